import { formatQuery, joinPath, type Query, readBaseUrl } from './address.js';
import { type Expected, type FetchResponse, readAnswer } from './answer.js';
import { AdminClientError, invalidArgument } from './client-error.js';
import { isTransient, readRetryAfter, repeatDelayMs } from './repeat.js';
import { checkTimeout, startTimeLimit, type TimeLimit } from './time-limit.js';

const MAX_RETRIES = 10;

/** What `fetch` is asked with. */
export interface FetchInit {
  method: string;
  headers: Record<string, string>;
  body?: string;
  signal: AbortSignal;
  credentials?: 'omit' | 'same-origin' | 'include';
  redirect: 'manual';
}

export type Fetch = (url: string, init: FetchInit) => Promise<FetchResponse>;

/** Headers by name; one that is undefined is left out. */
export type ClientHeaders = Readonly<Record<string, string | undefined>>;

export interface AdminClientOptions {
  /** Where the control plane is mounted, such as `https://app.example.com/admin`; in a browser `/admin` will do. */
  baseUrl: string | URL;
  /**
   * Sent with every request, or a function that is asked for them before each: `authorization`, for one. A call rejects
   * with what the function throws.
   */
  headers?: ClientHeaders | (() => ClientHeaders | Promise<ClientHeaders>);
  /** Whether a browser sends its cookies. @default the browser's own, `same-origin` */
  credentials?: 'omit' | 'same-origin' | 'include';
  /** @default the global `fetch` */
  fetch?: Fetch;
  /**
   * How often a call is repeated that changes nothing, or nothing twice: reads, and sends that have an idempotency key.
   * It is repeated when no answer came, and on 429, 502, 503 and 504, after as long as `Retry-After` says. 0 to 10.
   * @default 2
   */
  retries?: number;
  /** How long a call may take, repetitions and the waits between them included; milliseconds. @default 30000 */
  timeoutMs?: number;
}

/** What every call takes behind its own arguments. */
export interface CallOptions {
  /** Aborts the call, which then rejects with the signal's reason. */
  signal?: AbortSignal | undefined;
  /** In place of the client's. */
  timeoutMs?: number | undefined;
  /** In place of the client's. */
  retries?: number | undefined;
}

export interface Call {
  method: 'GET' | 'POST' | 'PATCH' | 'DELETE';
  /** Joined to a path below `baseUrl`; ids are encoded. */
  path: readonly string[];
  query?: Query;
  /** Sent as JSON. */
  body?: unknown;
  /** Whether asking twice is as good as asking once. @default GET: true, others: false */
  repeatable?: boolean;
  /** @default 'record' */
  expected?: Expected;
}

/** @throws AdminClientError, the reason of the caller's signal, or what its function `headers` throws */
export type Transport = <T>(call: Call, options?: CallOptions) => Promise<T>;

type Outcome = { value: unknown } | { error: unknown; transient: boolean; retryAfterMs: number | null };

/** @throws AdminClientError `INVALID_ARGUMENT` */
export function createTransport(options: AdminClientOptions): Transport {
  const { headers, credentials, fetch } = options;
  const defaults = {
    retries: checkRetries(options.retries ?? 2),
    timeoutMs: checkTimeout(options.timeoutMs ?? 30_000),
  };
  const inBrowser = (globalThis as { location?: unknown }).location !== undefined;
  const baseUrl = readBaseUrl(options.baseUrl, inBrowser || fetch !== undefined);
  // Looked up when it is used, and called without a receiver: browsers refuse another than the window.
  const send: Fetch = fetch ?? ((url, init) => globalThis.fetch(url, init));

  async function headersOf({ body }: Call): Promise<Record<string, string>> {
    const given = typeof headers === 'function' ? await headers() : headers;
    const all: Record<string, string> = { accept: 'application/json' };
    for (const [name, value] of Object.entries(given ?? {})) {
      if (value !== undefined) all[name.toLowerCase()] = value;
    }
    if (body !== undefined) all['content-type'] = 'application/json';
    return all;
  }

  async function ask(call: Call, url: string, what: string, limit: TimeLimit): Promise<Outcome> {
    const init: FetchInit = {
      method: call.method,
      headers: await limit.within(headersOf(call)),
      signal: limit.signal,
      // A POST that followed a redirect would become a GET, and its answer would be taken for the POST's.
      redirect: 'manual',
      ...(call.body !== undefined && { body: writeBody(call.body, what) }),
      ...(credentials !== undefined && { credentials }),
    };
    let response: FetchResponse;
    let text: string;
    try {
      response = await limit.within(send(url, init));
      text = await limit.within(response.text());
    } catch (cause) {
      if (limit.signal.aborted) throw limit.signal.reason;
      const error = new AdminClientError('NETWORK', `${what} got no answer: ${reasonOf(cause)}`, { cause });
      return { error, transient: true, retryAfterMs: null };
    }
    try {
      return { value: readAnswer(response, text, call.expected ?? 'record', what) };
    } catch (error) {
      const retryAfterMs = readRetryAfter(response.headers.get('retry-after'), Date.now());
      return { error, transient: isTransient(response.status), retryAfterMs };
    }
  }

  return async <T>(call: Call, { signal, ...own }: CallOptions = {}): Promise<T> => {
    const path = joinPath(call.path);
    const what = `${call.method} ${path}`;
    const url = `${baseUrl}${path}${formatQuery(call.query ?? {})}`;
    const retries = checkRetries(own.retries ?? defaults.retries);
    const limit = startTimeLimit(checkTimeout(own.timeoutMs ?? defaults.timeoutMs), signal, what);
    const repeats = (call.repeatable ?? call.method === 'GET') ? retries : 0;
    try {
      for (let failures = 1; ; failures++) {
        const outcome = await ask(call, url, what, limit);
        if ('value' in outcome) return outcome.value as T;
        if (!outcome.transient || failures > repeats) throw outcome.error;
        const waitMs = repeatDelayMs(failures, outcome.retryAfterMs, Math.random);
        // What went wrong says more than that the time was over after it.
        if (waitMs >= limit.remainingMs()) throw outcome.error;
        await limit.wait(waitMs);
      }
    } finally {
      limit.release();
    }
  };
}

/** What JSON cannot say is the caller's mistake, and nothing is asked. */
function writeBody(body: unknown, what: string): string {
  try {
    return JSON.stringify(body);
  } catch (cause) {
    throw invalidArgument(`The body of ${what} cannot be written as JSON: ${reasonOf(cause)}`, cause);
  }
}

function checkRetries(retries: number): number {
  if (Number.isInteger(retries) && retries >= 0 && retries <= MAX_RETRIES) return retries;
  throw invalidArgument(`retries must be a whole number from 0 to ${MAX_RETRIES}`);
}

/**
 * Node's fetch says "fetch failed" and keeps the reason in `cause`, which has a code alone where several addresses were
 * tried. By their fields: under Jest an error of the global fetch is none of this realm's.
 */
function reasonOf(error: unknown): string {
  const { message, cause } = (error ?? {}) as {
    message?: unknown;
    cause?: { message?: unknown; code?: unknown };
  };
  if (typeof message !== 'string') return String(error);
  const reason = cause?.message || cause?.code;
  return typeof reason === 'string' ? `${message} (${reason})` : message;
}
