/** Everything that is written in the visitor's language and time zone. */
const number = new Intl.NumberFormat();
const percent = new Intl.NumberFormat(undefined, { style: 'percent', maximumFractionDigits: 2 });
const relative = new Intl.RelativeTimeFormat(undefined, { numeric: 'auto', style: 'narrow' });
const exact = new Intl.DateTimeFormat(undefined, {
  dateStyle: 'medium',
  timeStyle: 'long',
});
const short = new Intl.DateTimeFormat(undefined, {
  month: 'short',
  day: 'numeric',
  hour: '2-digit',
  minute: '2-digit',
  second: '2-digit',
});
const moment = new Intl.DateTimeFormat(undefined, {
  month: 'short',
  day: 'numeric',
  hour: '2-digit',
  minute: '2-digit',
});
const clock = new Intl.DateTimeFormat(undefined, { hour: '2-digit', minute: '2-digit' });
const day = new Intl.DateTimeFormat(undefined, { month: 'short', day: 'numeric' });

export const NONE = '–';

export function formatNumber(value: number): string {
  return number.format(value);
}

/** Never rounded up to a hundred: one failure in a million is one. */
export function formatPercent(part: number, whole: number): string {
  if (whole === 0) return NONE;
  return percent.format(part === whole ? 1 : Math.min(0.9999, part / whole));
}

export function formatExact(time: string): string {
  return exact.format(new Date(time));
}

export function formatShort(time: string): string {
  return short.format(new Date(time));
}

export function formatClock(seconds: number): string {
  return clock.format(seconds * 1000);
}

/** To the minute, which says enough of the beginning of an interval. */
export function formatMoment(seconds: number): string {
  return moment.format(seconds * 1000);
}

export function formatDay(seconds: number): string {
  return day.format(seconds * 1000);
}

const UNITS: readonly [Intl.RelativeTimeFormatUnit, number][] = [
  ['year', 31_557_600_000],
  ['month', 2_629_800_000],
  ['day', 86_400_000],
  ['hour', 3_600_000],
  ['minute', 60_000],
  ['second', 1000],
];

export function formatRelative(time: string, now: number): string {
  const ms = Date.parse(time) - now;
  const [unit, size] = UNITS.find(([, each]) => Math.abs(ms) >= each) ?? ['second', 1000];
  return relative.format(Math.trunc(ms / size), unit);
}

/** A length of time, in its two largest units. */
export function formatDuration(ms: number): string {
  if (ms < 1000) return unit(Math.round(ms), 'millisecond');
  if (ms < 60_000) return unit(ms / 1000, 'second', ms < 10_000 ? 1 : 0);
  if (ms < 3_600_000) return pair(ms, 60_000, 'minute', 1000, 'second');
  if (ms < 86_400_000) return pair(ms, 3_600_000, 'hour', 60_000, 'minute');
  return pair(ms, 86_400_000, 'day', 3_600_000, 'hour');
}

function pair(ms: number, large: number, largeName: string, small: number, smallName: string): string {
  const rest = Math.floor((ms % large) / small);
  const first = unit(Math.floor(ms / large), largeName);
  return rest === 0 ? first : `${first} ${unit(rest, smallName)}`;
}

function unit(value: number, name: string, maximumFractionDigits = 0): string {
  return new Intl.NumberFormat(undefined, {
    style: 'unit',
    unit: name,
    unitDisplay: 'narrow',
    maximumFractionDigits,
  }).format(value);
}

/** For `<input type="datetime-local">`, which has no zone: the visitor's is meant. */
export function toLocalInput(time: string | null): string {
  const ms = Date.parse(time ?? '');
  if (Number.isNaN(ms)) return '';
  return new Date(ms - new Date(ms).getTimezoneOffset() * 60_000).toISOString().slice(0, 16);
}

export function fromLocalInput(text: string): string | undefined {
  const ms = new Date(text).getTime();
  return Number.isNaN(ms) ? undefined : new Date(ms).toISOString();
}

/** Only addresses that a browser fetches by http or https may become links: others can be code. */
export function linkable(url: string): string | undefined {
  try {
    const { protocol, href } = new URL(url);
    return protocol === 'https:' || protocol === 'http:' ? href : undefined;
  } catch {
    return undefined;
  }
}
