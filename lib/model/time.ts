const RFC3339 = /^(\d{4})-(\d{2})-(\d{2})(?:T(\d{2}):(\d{2}):(\d{2})(?:\.(\d{1,9}))?(Z|[+-]\d{2}:\d{2}))?$/i;

let lastMs = Number.NaN;
let lastText = '';

/** Milliseconds since the epoch as ISO-8601 UTC with milliseconds, the form of every time in the records. */
export function isoTime(ms: number): string {
  // Messages of a batch, and attempts that begin together, share their time.
  if (ms !== lastMs) {
    lastText = new Date(ms).toISOString();
    lastMs = ms;
  }
  return lastText;
}

export function isoTimeOrNull(ms: number | null): string | null {
  return ms === null ? null : isoTime(ms);
}

/**
 * Reads an RFC 3339 time with an offset, or a plain date meaning midnight UTC. Anything else, a day that the month
 * does not have included, is answered by a sentence that says what to change.
 */
export function parseTime(text: string): { ms: number } | { problem: string } {
  const match = RFC3339.exec(text);
  if (!match) {
    if (/^\S+ \d{2}:\d{2}$/.test(text)) {
      return { problem: 'has a space where its offset should be: encode "+" as "%2B"' };
    }
    if (/^\d{4}-\d{2}-\d{2}[T ]\d{2}:\d{2}(:\d{2}(\.\d+)?)?$/i.test(text)) {
      return { problem: 'has no offset: end it with "Z" or with one like "+02:00"' };
    }
    return {
      problem: 'must be an RFC 3339 time such as "2026-01-31T12:00:00Z", or a date such as "2026-01-31"',
    };
  }
  const [, year, month, day, hour = '00', minute = '00', second = '00', fraction = '', offset = 'Z'] = match;
  const milliseconds = fraction.padEnd(3, '0').slice(0, 3);
  const local = Date.parse(`${year}-${month}-${day}T${hour}:${minute}:${second}.${milliseconds}Z`);
  const offsetMinutes =
    offset.toUpperCase() === 'Z' ? 0 : Number(offset.slice(1, 3)) * 60 + Number(offset.slice(4));
  const real =
    !Number.isNaN(local) &&
    new Date(local).getUTCDate() === Number(day) &&
    Number(hour) < 24 &&
    offsetMinutes < 24 * 60 &&
    Number(offset.slice(4) || 0) < 60;
  if (!real) return { problem: 'names a time that does not exist' };
  return { ms: local - (offset.startsWith('-') ? -offsetMinutes : offsetMinutes) * 60_000 };
}
