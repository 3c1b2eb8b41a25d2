import { normalizeBasePath } from '../model/base-path.js';
import { HookplaneError } from '../model/errors.js';
import { type KnownKeys, unknownKey } from '../model/known-keys.js';
import { parseUrl } from '../model/url.js';

export interface DashboardHandlerOptions {
  /**
   * Where the visitor's browser finds the control plane: a path of the same origin (`/admin`), a path relative to the
   * page (`../admin`), which holds behind a proxy that changes the prefix, too, or an absolute URL. On another origin
   * the control plane needs CORS in front of it, and takes tokens only.
   */
  adminUrl: string;
  /**
   * The prefix that the host leaves on the path, such as `/webhooks`. `app.use('/webhooks', …)` takes it off and needs
   * none; Fetch-native hosts do not.
   * @default ''
   */
  basePath?: string;
  /** What the page is called. @default 'Webhooks' */
  title?: string;
  /**
   * Custom properties of the page's style sheet, such as `{ '--hp-accent': '#0a7d4f' }`. A colour that differs in the
   * dark is written `light-dark(#0a7d4f, #4fd99a)`.
   */
  theme?: Readonly<Record<`--hp-${string}`, string>>;
  /**
   * Who may show the page in a frame, as sources of the policy `frame-ancestors`: `'self'` with its quotes, or origins
   * such as `https://portal.example.com`. Nobody, unless it is given.
   */
  frameAncestors?: readonly string[];
}

const OPTIONS: KnownKeys<DashboardHandlerOptions> = {
  adminUrl: true,
  basePath: true,
  title: true,
  theme: true,
  frameAncestors: true,
};

export interface DashboardSettings {
  adminUrl: string;
  /** The origin of an absolute `adminUrl`; null where it is that of the page. */
  adminOrigin: string | null;
  basePath: string;
  title: string;
  theme: ReadonlyMap<string, string>;
  frameAncestors: readonly string[];
}

const MAX_TITLE = 200;
const PROPERTY = /^--hp-[a-z0-9]+(?:-[a-z0-9]+)*$/;
const ANCESTOR = /^(?:'self'|https?:\/\/(?:\*\.)?[a-z0-9-]+(?:\.[a-z0-9-]+)*(?::(?:\d{1,5}|\*))?)$/i;

/** @throws HookplaneError `INVALID_OPTIONS` */
export function resolveDashboard(options: DashboardHandlerOptions): DashboardSettings {
  if (typeof options !== 'object' || options === null) throw invalid('needs options: { adminUrl }');
  const problem = unknownKey(options, OPTIONS);
  if (problem !== null) throw invalid(problem);
  const { adminUrl, basePath = '', title = 'Webhooks', theme = {}, frameAncestors = [] } = options;
  if (typeof basePath !== 'string') throw invalid(`needs a basePath that is text: ${shown(basePath)}`);
  if (typeof title !== 'string' || title.trim() === '' || title.length > MAX_TITLE) {
    throw invalid(`needs a title of 1 to ${MAX_TITLE} characters: ${shown(title)}`);
  }
  return {
    ...readAdminUrl(adminUrl),
    basePath: normalizeBasePath(basePath),
    title,
    theme: readTheme(theme),
    frameAncestors: readAncestors(frameAncestors),
  };
}

function readAdminUrl(given: unknown): Pick<DashboardSettings, 'adminUrl' | 'adminOrigin'> {
  const bad = (why: string) =>
    invalid(
      `${why}: adminUrl must be "/admin", "../admin" or "https://app.example.com/admin", as your control plane is mounted: ${shown(given)}`,
    );
  if (typeof given !== 'string' || given === '') throw bad('does not know where the control plane is');
  // What URL parsers drop or change would leave this check and the browser with two readings.
  if (/[^\x21-\x7e]|[\\"<>^`{|}]/.test(given)) throw bad('was given an adminUrl with characters to escape');
  if (/[?#]/.test(given)) throw bad('was given an adminUrl with a query or a fragment');
  if (/^(?:\/(?!\/)|\.{1,2}\/)/.test(given)) return { adminUrl: given, adminOrigin: null };
  const url = /^https?:\/\//i.test(given) ? parseUrl(given) : null;
  if (!url) throw bad('was given an adminUrl that is neither a path nor an http(s) URL');
  // They would be shown to everybody who opens the page.
  if (url.username || url.password) {
    throw invalid('was given an adminUrl with credentials: leave them out, visitors bring their own');
  }
  return { adminUrl: given, adminOrigin: url.origin };
}

function readTheme(given: unknown): ReadonlyMap<string, string> {
  if (typeof given !== 'object' || given === null || Array.isArray(given)) {
    throw invalid(`needs a theme that is an object, such as { '--hp-accent': '#0a7d4f' }: ${shown(given)}`);
  }
  const theme = new Map<string, string>();
  for (const [name, value] of Object.entries(given)) {
    if (!PROPERTY.test(name)) {
      throw invalid(
        `has a theme with ${shown(name)}: its names are custom properties, such as "--hp-accent"`,
      );
    }
    if (typeof value !== 'string' || !isValue(value)) {
      throw invalid(
        `has a theme whose ${name} is no value of CSS: leave out ; { } < > @ \\ and line breaks, and close what is opened: ${shown(value)}`,
      );
    }
    theme.set(name, value);
  }
  return theme;
}

/** One that ends where it seems to: what stands behind it in the style sheet must not become a part of it. */
function isValue(value: string): boolean {
  if (value.trim() === '' || /[;{}<>@\\]|\/\*|\p{Cc}/u.test(value)) return false;
  const bare = value.replace(/"[^"]*"|'[^']*'/g, '');
  let depth = 0;
  for (const character of bare) {
    if (character === '(') depth += 1;
    if (character === ')') depth -= 1;
    if (depth < 0) return false;
  }
  return depth === 0 && !/["'[\]]/.test(bare);
}

function readAncestors(given: unknown): readonly string[] {
  if (!Array.isArray(given)) {
    throw invalid(`needs frameAncestors that are a list, such as ["'self'"]: ${shown(given)}`);
  }
  for (const source of given) {
    if (typeof source !== 'string' || !ANCESTOR.test(source)) {
      throw invalid(
        `has frameAncestors with ${shown(source)}: use "'self'" and origins, such as "https://portal.example.com"`,
      );
    }
  }
  return [...given];
}

function invalid(problem: string): HookplaneError {
  return new HookplaneError('INVALID_OPTIONS', `The dashboard ${problem}`);
}

/** Of whatever was given in place of what was asked for. */
function shown(value: unknown): string {
  return typeof value === 'string' ? JSON.stringify(value.slice(0, 200)) : typeof value;
}
