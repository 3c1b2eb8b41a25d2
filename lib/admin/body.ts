import { within } from '../model/deadline.js';
import { HookplaneError } from '../model/errors.js';
import { isPlainObject } from '../model/input.js';
import { assertSoundJson } from './json.js';

/** How long a caller who may enter has to send the body. */
export const BODY_MS = 20_000;

/** A request whose body an authorizer may read, whole, in part or on a clone, without taking it from the route. */
export interface SharedBody {
  /** What the authorizer is given. */
  request: Request;
  /** Waits for the first bytes. @throws HookplaneError like `read` */
  isEmpty(): Promise<boolean>;
  /** All bytes of the body. @throws HookplaneError `BODY_TOO_LARGE`, `INVALID_BODY` when it breaks off */
  read(): Promise<Uint8Array>;
}

/**
 * Reads nothing by itself: what the authorizer pulls is kept, and the route reads what was kept and then the rest. (A
 * clone would pull from the client at once, before anybody is allowed in.)
 */
export function shareBody(request: Request, maxBytes: number): SharedBody {
  const source = request.body;
  if (request.bodyUsed || source?.locked) return { request, isEmpty: refuseUsed, read: refuseUsed };
  if (!source) {
    const shown = request instanceof Request ? request : show(request);
    // Adapters make a request without a body of one that a parser has read, and leave its length in the headers.
    if (Number(request.headers.get('content-length')) > 0) {
      return { request: shown, isEmpty: refuseUsed, read: refuseUsed };
    }
    return { request: shown, isEmpty: async () => true, read: async () => new Uint8Array() };
  }
  const chunks: Uint8Array[] = [];
  let size = 0;
  let reader: ReadableStreamDefaultReader<Uint8Array> | undefined;
  let pulling: Promise<boolean> | undefined;

  async function pull(): Promise<boolean> {
    // Whoever asks again is told again: an authorizer may have caught it the first time.
    if (size > maxBytes) throw tooLarge(maxBytes);
    reader ??= source!.getReader();
    const { done, value } = await reader.read();
    if (done) return false;
    size += value.byteLength;
    if (size > maxBytes) {
      const error = tooLarge(maxBytes);
      reader.cancel(error).catch(() => {});
      throw error;
    }
    if (value.byteLength > 0) chunks.push(value);
    return true;
  }

  /** The chunk at a position, pulled when nobody has yet; undefined at the end. */
  async function chunkAt(index: number): Promise<Uint8Array | undefined> {
    while (index >= chunks.length) {
      pulling ??= pull().finally(() => {
        pulling = undefined;
      });
      if (!(await pulling)) return undefined;
    }
    return chunks[index];
  }

  async function received(index: number): Promise<Uint8Array | undefined> {
    try {
      return await chunkAt(index);
    } catch (cause) {
      if (cause instanceof HookplaneError) throw cause;
      throw new HookplaneError('INVALID_BODY', 'The body broke off before its end', { cause });
    }
  }

  let next = 0;
  // Of bytes: cloning the request tees the stream, and the tee of any other stream pulls a chunk at once.
  const stream = new ReadableStream({
    type: 'bytes',
    async pull(controller) {
      const chunk = await chunkAt(next++);
      if (chunk) {
        // A copy, because the stream takes the memory of what it is given.
        controller.enqueue(new Uint8Array(chunk));
      } else {
        controller.close();
        controller.byobRequest?.respond(0);
      }
    },
  });

  return {
    request: show(request, { body: stream, duplex: 'half' }),
    isEmpty: async () => (await received(0)) === undefined,
    async read() {
      const length = Number(request.headers.get('content-length'));
      if (length > maxBytes) throw tooLarge(maxBytes);
      let index = 0;
      while (await received(index)) index += 1;
      return Buffer.concat(chunks, size);
    },
  };
}

/**
 * The request for one of several readers: what one reads, the others can read as well. As with the request that
 * `shareBody` shows, nothing is pulled before somebody reads.
 */
export function copyOf(request: Request): Request {
  if (!request.body || request.bodyUsed || request.body.locked) return request;
  return withSignalOf(request, request.clone());
}

/** The host has taken it, for itself: without this, a request that had a body would be one that has none. */
async function refuseUsed(): Promise<never> {
  throw new Error(
    'The request body has been read before: hand the control plane a request that nothing has read, or a clone of it',
  );
}

/** A native request like the given one, which may be of a host's own making. */
function show(request: Request, init: RequestInit & { duplex?: 'half' } = {}): Request {
  const shown = native(request, init);
  return shown === request ? shown : withSignalOf(request, shown);
}

function withSignalOf(request: Request, other: Request): Request {
  return Object.defineProperty(other, 'signal', { get: () => request.signal });
}

function native(request: Request, init: RequestInit): Request {
  try {
    return new Request(request, init);
  } catch {
    // What looks like a request is none to the runtime: it is made from its parts.
  }
  try {
    return new Request(request.url, { method: request.method, headers: [...request.headers], ...init });
  } catch {
    // TRACE and the like, which the Fetch standard has no request for and the control plane no route.
    return request;
  }
}

function tooSlow(): HookplaneError {
  return new HookplaneError('INVALID_BODY', `The body did not arrive within ${BODY_MS / 1000} seconds`);
}

function tooLarge(maxBytes: number): HookplaneError {
  return new HookplaneError('BODY_TOO_LARGE', `The body is larger than ${maxBytes} bytes`);
}

/**
 * Reads a JSON object.
 * @returns undefined for an empty body
 * @throws HookplaneError `UNSUPPORTED_MEDIA_TYPE`, `BODY_TOO_LARGE`, `INVALID_BODY`
 */
export function readJsonObject(body: SharedBody): Promise<Record<string, unknown> | undefined> {
  return within(readWhole(body), BODY_MS, tooSlow);
}

async function readWhole(body: SharedBody): Promise<Record<string, unknown> | undefined> {
  const { headers } = body.request;
  const length = headers.get('content-length');
  // Some hosts give every POST a stream: what tells neither a length nor a type may be no body at all.
  const announced = length ?? headers.get('content-type');
  if (body.request.body && length !== '0' && (announced || !(await body.isEmpty()))) assertJsonType(headers);
  const bytes = await body.read();
  if (bytes.byteLength === 0) return undefined;
  let value: unknown;
  try {
    const text = new TextDecoder('utf-8', { fatal: true }).decode(bytes);
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
