import type { ByteSource } from './body-bytes.js';

/** The host has taken the body, for itself: without this, a request that had one would be one that has none. */
export class BodyUsed extends Error {
  constructor() {
    super(
      'The request body has been read before: hand the control plane a request that nothing has read, or a clone of it',
    );
  }
}

/** Whether the head alone says that there is no body: no HTTP parser hands one over then. */
export function saysNoBody({ method, headers }: Request): boolean {
  return method === 'GET' || method === 'HEAD' || headers.get('content-length') === '0';
}

/** Whether it is known that there is no body, as far as that costs nothing. */
export function hasNoBody(request: Request): boolean {
  return saysNoBody(request) || (isNative(request) && !request.body && announcedLength(request) === 0);
}

/**
 * Opens the body of a request as the host hands it over. Of a request of a host's own class nothing is looked at before.
 * @throws BodyUsed
 */
export function openBody(request: Request, maxBytes: number): ByteSource {
  if (request.bodyUsed) throw new BodyUsed();
  const length = announcedLength(request);
  // A host's own request has the body that its parser has held to this length. A native one may be of middleware that
  // unpacks bodies, and has the length of what was packed.
  if (length > 0 && length <= maxBytes && !isNative(request)) return readAtOnce(request);
  const stream = request.body;
  // Adapters make a request without a body of one that a parser has read, and leave its length in the headers.
  if (stream ? stream.locked : length > 0) throw new BodyUsed();
  const reader = stream?.getReader();
  return {
    next: async () =>
      ((await reader?.read()) ?? { done: true, value: undefined }) as IteratorResult<Uint8Array, undefined>,
    return: async () => ({ done: true, value: void (await reader?.cancel()) }),
  };
}

/** Such hosts read from the message then, and make no stream of it, which takes @hono/node-server some 100 µs. */
async function* readAtOnce(request: Request): AsyncGenerator<Uint8Array, undefined> {
  const bytes = await request.arrayBuffer();
  if (bytes.byteLength === 0) throw new BodyUsed();
  yield new Uint8Array(bytes);
}

/** A request of the platform's class, whose body it costs nothing to look at. A lighter one has to be made native then. */
function isNative(request: Request): boolean {
  return Object.getPrototypeOf(request) === Request.prototype;
}

/** 0 for a length that is absent, or none. */
function announcedLength({ headers }: Request): number {
  return Number(headers.get('content-length')) || 0;
}
