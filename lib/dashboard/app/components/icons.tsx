/** Drawn on a grid of 16; none says anything that the text beside it, or the label of its button, does not. */
const PATHS = {
  overview: 'M2 9.5h3l2-6 3 10 1.8-4H14',
  endpoints:
    'M8 1.8a6.2 6.2 0 1 0 0 12.4A6.2 6.2 0 0 0 8 1.8ZM1.8 8h12.4M8 1.8c4 4 4 8.4 0 12.4M8 1.8c-4 4-4 8.4 0 12.4',
  messages: 'M2 3.5h12v9H2zM2.3 4l5.7 4.7L13.7 4',
  replay: 'M2.5 8a5.5 5.5 0 1 0 1.7-4M4.2 1.3V4.2H7',
  tenants:
    'M6 7.5a2.5 2.5 0 1 0 0-5 2.5 2.5 0 0 0 0 5ZM1.5 13.5c0-2.5 2-4 4.5-4s4.5 1.5 4.5 4M11 3a2.3 2.3 0 0 1 0 4.3M12.5 9.8c1.3.6 2 1.9 2 3.7',
  keys: 'M5 8.2a2.9 2.9 0 1 0 0 5.8 2.9 2.9 0 0 0 0-5.8ZM7.2 9 13.5 2.6M11 5.2l2 2',
  audit: 'M3.5 1.8h9v12.4h-9zM6 5.2h4M6 8h4M6 10.8h2.5',
  chevron: 'm6 3.5 4.5 4.5L6 12.5',
  back: 'M10 3.5 5.5 8 10 12.5',
  close: 'm4 4 8 8M12 4l-8 8',
  plus: 'M8 3v10M3 8h10',
  copy: 'M5.5 5.5h8v8h-8zM10.5 5.5v-3h-8v8h3',
  check: 'm3 8.5 3.5 3.5L13 4.5',
  mark: 'M4 3v10M4 8h5a3 3 0 0 1 3 3v2M12 3v2.5',
} as const;

export type IconName = keyof typeof PATHS;

export function Icon({ name, size = 16 }: { name: IconName; size?: number }) {
  return (
    <svg
      width={size}
      height={size}
      viewBox="0 0 16 16"
      fill="none"
      stroke="currentColor"
      stroke-width="1.5"
      stroke-linecap="round"
      stroke-linejoin="round"
      aria-hidden="true"
      focusable="false"
      class={name === 'chevron' ? 'chevron' : undefined}
    >
      <path d={PATHS[name]} />
    </svg>
  );
}
