/** `system` follows the visitor's device. */
export type Theme = 'system' | 'light' | 'dark';
export const THEMES: readonly Theme[] = ['system', 'light', 'dark'];

const KEY = 'hookplane.theme';
/** Sent when colours change, for what paints with resolved ones. */
export const THEME_EVENT = 'hookplane-theme';

export function readTheme(): Theme {
  const kept = read();
  return THEMES.find((theme) => theme === kept) ?? 'system';
}

/** Browsers that keep nothing for this page throw on access. */
function read(): string | null {
  try {
    return localStorage.getItem(KEY);
  } catch {
    return null;
  }
}

/** Keeps the choice, when one is given, and puts it on the page. */
export function applyTheme(chosen?: Theme): void {
  if (chosen) {
    try {
      localStorage.setItem(KEY, chosen);
    } catch {
      // It then holds until the page is left.
    }
  }
  const theme = chosen ?? readTheme();
  if (theme === 'system') delete document.documentElement.dataset.theme;
  else document.documentElement.dataset.theme = theme;
  dispatchEvent(new Event(THEME_EVENT));
}

matchMedia('(prefers-color-scheme: dark)').addEventListener('change', () =>
  dispatchEvent(new Event(THEME_EVENT)),
);

/** The colour that a custom property comes to; `light-dark()` is resolved in colours only, not in properties. */
export function resolveColor(property: string): string {
  const probe = document.createElement('span');
  probe.style.color = `var(${property})`;
  document.body.append(probe);
  const { color } = getComputedStyle(probe);
  probe.remove();
  return color;
}
