const BASE_MS = 250;
const MAX_MS = 8000;

/** Answers that say "not now": too many requests, and those of proxies and servers that are overloaded or restarting. */
const TRANSIENT = new Set([429, 502, 503, 504]);

export function isTransient(status: number): boolean {
  return TRANSIENT.has(status);
}

/**
 * How long to wait before a call is repeated, in milliseconds: twice as long each time, moved at random so that clients
 * which failed together do not come back together, and never before the server wants it.
 * @param failuresSoFar 1 after the first
 */
export function repeatDelayMs(
  failuresSoFar: number,
  retryAfterMs: number | null,
  random: () => number,
): number {
  const backoff = Math.min(MAX_MS, BASE_MS * 2 ** (failuresSoFar - 1));
  return Math.round((retryAfterMs ?? 0) + backoff * (0.5 + random() / 2));
}

/** What a `Retry-After` header asks for (RFC 9110, §10.2.3), in milliseconds from `now`; null when it says nothing. */
export function readRetryAfter(value: string | null, now: number): number | null {
  const text = value?.trim() ?? '';
  if (/^\d+$/.test(text)) return Number(text) * 1000;
  // Date.parse alone takes nearly anything for a date.
  const date = text.endsWith('GMT') ? Date.parse(text) : Number.NaN;
  return Number.isNaN(date) ? null : Math.max(0, date - now);
}
