import type { IncomingMessage } from 'node:http';
import { BodyBytes, type ByteSource } from '../admin/body-bytes.js';
import type { HostRequest } from './target.js';

export interface RequestBody {
  bytes: BodyBytes;
  /** The bytes are made from what a parser left, so the length and encodings that the headers name are not theirs. */
  restored: boolean;
}

/** True when the head of the message announces a body. */
export function announcesBody(req: IncomingMessage): boolean {
  return req.headers['transfer-encoding'] !== undefined || Number(req.headers['content-length'] ?? 0) > 0;
}

/**
 * The body of a request, null when it has none. Nothing is read, and nothing that a parser left is serialised,
 * before somebody reads them: a caller who is refused costs neither. Reading a body that is lost fails at once.
 */
export function requestBody(req: HostRequest, onLost: (error: Error) => void): RequestBody | null {
  if (!announcesBody(req)) return null;
  const lose = (how: string): never => {
    const error = new Error(`The request body ${how}: mount hookplane before whatever reads it`);
    onLost(error);
    throw error;
  };
  if (!req.readableDidRead) {
    // A parser that met an empty chunked body has ended the stream without having seen a byte.
    return req.readableEnded ? null : { bytes: new BodyBytes(() => wireChunks(req, lose)), restored: false };
  }
  return { bytes: new BodyBytes(() => restoredChunks(req, lose)), restored: true };
}

/** The chunks of a message as they are taken: what `req.iterator` does, without the cost of its generator and watcher. */
function wireChunks(req: IncomingMessage, lose: (how: string) => never): ByteSource {
  if (req.readableDidRead) lose('was read by something else while the request was being handled');
  let isClosed = false;
  let goOn = (): void => {};
  const happened = (): void => goOn();
  const close = (): void => {
    isClosed = true;
    goOn();
  };
  req.on('readable', happened).on('end', happened).on('error', happened).on('close', close);
  return {
    async next() {
      for (;;) {
        const value = req.read() as Buffer | null;
        if (value) return { done: false, value };
        // The rest is let go of, unread: the answer is out.
        if (req.readableFlowing) throw new Error('The request was answered before its body was read');
        if (req.readableEnded) return { done: true, value: undefined };
        if (isClosed || req.destroyed) throw req.errored ?? new Error('The client broke the request off');
        await new Promise<void>((resolve) => {
          goOn = resolve;
        });
      }
    },
    // The request stays alive when a reader stops early: the response has yet to be written.
    async return() {
      req.off('readable', happened);
      return { done: true, value: undefined };
    },
  };
}

async function* restoredChunks(
  req: HostRequest,
  lose: (how: string) => never,
): AsyncGenerator<Uint8Array, undefined> {
  const bytes = restore(req) ?? lose('has been read, and neither req.body nor req.rawBody holds it');
  if (bytes.length > 0) yield typeof bytes === 'string' ? Buffer.from(bytes) : bytes;
}

/** Undefined when nothing is left of the body. */
function restore(req: HostRequest): Uint8Array | string | undefined {
  const { body, rawBody } = req;
  if (rawBody instanceof Uint8Array || typeof rawBody === 'string') return rawBody;
  if (body instanceof Uint8Array) return body;
  if (typeof body === 'string') return isParsedJsonString(req, body) ? JSON.stringify(body) : body;
  if (body === undefined) return undefined;
  return contentType(req) === 'application/x-www-form-urlencoded' ? formEncode(body) : JSON.stringify(body);
}

/**
 * `express.text()` and `express.json({ strict: false })` both leave a string. The value of a JSON string is always
 * shorter than its text, which has at least the quotes.
 */
function isParsedJsonString(req: IncomingMessage, body: string): boolean {
  return (
    /\bjson$/.test(contentType(req)) &&
    req.headers['content-encoding'] === undefined &&
    Buffer.byteLength(body) < Number(req.headers['content-length'] ?? 0)
  );
}

function contentType(req: IncomingMessage): string {
  const [type = ''] = (req.headers['content-type'] ?? '').split(';', 1);
  return type.trim().toLowerCase();
}

/** A form stays a form: turned into JSON it would pass for an API call that no browser can make across sites. */
function formEncode(body: unknown): string {
  const form = new URLSearchParams();
  const append = (name: string, value: unknown): void => {
    if (value === null || typeof value !== 'object') form.append(name, String(value));
    else if (Array.isArray(value)) for (const item of value) append(name, item);
    else for (const [key, item] of Object.entries(value)) append(name ? `${name}[${key}]` : key, item);
  };
  append('', body);
  return form.toString();
}
