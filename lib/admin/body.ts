import { within } from '../model/deadline.js';
import { HookplaneError } from '../model/errors.js';
import { isPlainObject } from '../model/input.js';
import { BodyBytes, tooLarge } from './body-bytes.js';
import { BodyUsed, hasNoBody, openBody, saysNoBody } from './host-body.js';
import { assertSoundJson } from './json.js';

/** How long a caller who may enter has to send the body. */
export const BODY_MS = 20_000;

/** A request whose body an authorizer may read, whole, in part or on a clone, without taking it from the route. */
export interface SharedBody {
  /** What the authorizer is given. */
  request: Request;
  /** What the route reads. */
  bytes: Pick<BodyBytes, 'at' | 'whole'>;
  maxBytes: number;
}

/**
 * Where the stream of a request's body gets its bytes from, for a route that reads them without it; null when there is
 * no body. A property of the request, as `ANSWER` is one of a response.
 */
const BYTES = Symbol('bytes');

type BridgedRequest = Request & { [BYTES]?: BodyBytes | null };

/**
 * Notes where the stream of a request's body gets its bytes from. A second request with a stream of its own takes 37 µs
 * to make; without it, and without the streams and the iterator to read, a send takes 420 µs in place of 530.
 */
export function withBytes(request: Request, bytes: BodyBytes | null): Request {
  return Object.assign(request, { [BYTES]: bytes });
}

/** Reads nothing by itself. (A clone would pull from the client at once, before anybody is allowed in.) */
export function shareBody(request: Request, maxBytes: number): SharedBody {
  const known = (request as BridgedRequest)[BYTES];
  if (known) {
    known.maxBytes = maxBytes;
    return { request, bytes: known, maxBytes };
  }
  if (known === null) return { request, bytes: NONE, maxBytes };
  if (hasNoBody(request)) {
    return { request: request instanceof Request ? request : show(request), bytes: NONE, maxBytes };
  }
  const bytes = new BodyBytes(() => openBody(request, maxBytes));
  bytes.maxBytes = maxBytes;
  return { request: show(request, { body: bytes.stream(), duplex: 'half' }), bytes, maxBytes };
}

const NONE: SharedBody['bytes'] = { at: async () => undefined, whole: async () => new Uint8Array() };

/**
 * The request for one of several readers: what one reads, the others can read as well. As with the request that
 * `shareBody` shows, nothing is pulled before somebody reads.
 */
export function copyOf(request: Request): Request {
  if (saysNoBody(request) || !request.body || request.bodyUsed || request.body.locked) return request;
  return withSignalOf(request, request.clone());
}

/** A native request like the given one, which may be of a host's own making. */
function show(request: Request, init: RequestInit & { duplex?: 'half' } = {}): Request {
  const shown = native(request, init);
  return shown === request ? shown : withSignalOf(request, shown);
}

function withSignalOf(request: Request, other: Request): Request {
  return Object.defineProperty(other, 'signal', { get: () => request.signal });
}

/** From its parts, in 24 µs: made of the request it takes 37, for a signal that follows the other's. */
function native(request: Request, init: RequestInit): Request {
  try {
    return new Request(request.url, { method: request.method, headers: request.headers, ...init });
  } catch {
    // TRACE and the like, which the Fetch standard has no request for and the control plane no route.
    return request;
  }
}

function tooSlow(): HookplaneError {
  return new HookplaneError('INVALID_BODY', `The body did not arrive within ${BODY_MS / 1000} seconds`);
}

/**
 * Reads a JSON object.
 * @returns undefined for an empty body
 * @throws HookplaneError `UNSUPPORTED_MEDIA_TYPE`, `BODY_TOO_LARGE`, `INVALID_BODY`
 */
export async function readJsonObject(body: SharedBody): Promise<Record<string, unknown> | undefined> {
  return body.bytes === NONE ? undefined : within(readWhole(body), BODY_MS, tooSlow);
}

const UTF8 = new TextDecoder('utf-8', { fatal: true });

async function readWhole(body: SharedBody): Promise<Record<string, unknown> | undefined> {
  const { headers } = body.request;
  const length = headers.get('content-length');
  // Some hosts give every POST a stream: what tells neither a length nor a type may be no body at all.
  const announced = length ?? headers.get('content-type');
  if (announced || (await received(body.bytes.at(0)))) assertJsonType(headers);
  if (Number(length) > body.maxBytes) throw tooLarge(body.maxBytes);
  const bytes = await received(body.bytes.whole());
  if (bytes.byteLength === 0) return undefined;
  let value: unknown;
  try {
    const text = UTF8.decode(bytes);
    value = JSON.parse(text);
    assertSoundJson(text);
  } catch (cause) {
    if (cause instanceof HookplaneError) throw cause;
    const what = cause instanceof SyntaxError ? 'is not valid JSON' : 'is not valid UTF-8';
    throw new HookplaneError('INVALID_BODY', `The body ${what}`, { cause });
  }
  if (!isPlainObject(value)) throw new HookplaneError('INVALID_BODY', 'The body must be a JSON object');
  return value;
}

async function received<T>(reading: Promise<T>): Promise<T> {
  try {
    return await reading;
  } catch (cause) {
    if (cause instanceof HookplaneError || cause instanceof BodyUsed) throw cause;
    throw new HookplaneError('INVALID_BODY', 'The body broke off before its end', { cause });
  }
}

function assertJsonType(headers: Headers): void {
  const encoding = headers.get('content-encoding')?.toLowerCase() ?? 'identity';
  if (encoding !== 'identity') {
    throw new HookplaneError(
      'UNSUPPORTED_MEDIA_TYPE',
      'The body must not be compressed: send it without a content-encoding',
    );
  }
  const type = headers.get('content-type') ?? '';
  if (!/^application\/(?:json|[\w.!#$&^+-]+\+json)\s*(?:;|$)/i.test(type)) {
    throw new HookplaneError(
      'UNSUPPORTED_MEDIA_TYPE',
      'The body must be JSON: send it with "content-type: application/json"',
    );
  }
}
