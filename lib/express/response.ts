import type { IncomingMessage, ServerResponse } from 'node:http';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import type { ReadableStream } from 'node:stream/web';
import { setImmediate } from 'node:timers/promises';
import { type Answer, knownAnswer } from '../admin/response.js';
import { announcesBody } from './body.js';

/** The request and response of the host framework: Express's, connect's or Node.js's own. */
export interface NodeHost {
  req: IncomingMessage;
  res: ServerResponse;
}

const NULL_BODY_STATUSES = new Set([204, 205, 304]);

/**
 * How long a connection that is to be closed takes in what the client still sends. Closed at once it would be reset,
 * and a reset can reach the client before it has read the response.
 */
const LINGER_MS = 1000;

/**
 * True when a part of the request is still to come that nobody has waited for. What has arrived unread does not count:
 * Node.js drops it and the connection goes on.
 */
export async function leavesRest(req: IncomingMessage): Promise<boolean> {
  if (!announcesBody(req) || req.complete) return false;
  // A handler that waits for nothing is done before Node.js has parsed the body that came together with the head.
  await setImmediate();
  return !req.complete;
}

/**
 * Writes a Fetch response. Headers that others have set stay, unless the response names them itself; cookies add up.
 * A body of the control plane's is written from the text it was made of, at once. With `closes` the connection ends
 * with this response.
 * @throws before anything is sent, leaving `res` as it was; or when the body's stream fails, with `res` destroyed
 */
export async function writeResponse(
  { req, res }: NodeHost,
  response: Response,
  { closes }: { closes: boolean },
): Promise<void> {
  if (res.headersSent || res.destroyed) {
    discardBody(response);
    return;
  }
  const answer = knownAnswer(response);
  if (answer) writeAnswer(res, answer, closes);
  else await writeStreamed({ req, res }, response, closes);
  if (!closes) return;
  if (!req.complete && !req.destroyed) await receiveRest(req);
  if (!res.destroyed) res.end();
}

/** Node.js joins a text with the head and measures it again, which from here on takes longer than to encode it first. */
const LONG = 65_536;

/** An answer of the control plane's own: all of it is at hand, and its headers are ones that can be sent. */
function writeAnswer(res: ServerResponse, { status, headers, body }: Answer, closes: boolean): void {
  res.statusCode = status;
  for (const name in headers) res.setHeader(name, headers[name] as string);
  const sent = body !== null && body.length > LONG ? Buffer.from(body) : body;
  if (sent !== null) res.setHeader('content-length', Buffer.byteLength(sent));
  if (!closes) {
    res.end(sent ?? undefined);
    return;
  }
  res.setHeader('connection', 'close');
  // The whole answer goes out, and the message stays open: its end would close the connection.
  if (sent) res.write(sent);
  else res.flushHeaders();
}

async function writeStreamed({ req, res }: NodeHost, response: Response, closes: boolean): Promise<void> {
  const streamed = response.body;
  if (response.bodyUsed || streamed?.locked) {
    throw new TypeError('The handler answered with a response whose body has been read');
  }
  applyHead(res, response, closes);
  if (streamed && req.method !== 'HEAD' && !NULL_BODY_STATUSES.has(response.status)) {
    await pipeline(Readable.fromWeb(streamed as ReadableStream), res, { end: !closes });
    return;
  }
  discardBody(response);
  if (closes) res.flushHeaders();
  else res.end();
}

/** Sets status and headers, or none of them. */
function applyHead(res: ServerResponse, response: Response, closes: boolean): void {
  const earlier = res.getHeaders();
  try {
    for (const [name, value] of response.headers) {
      if (name !== 'set-cookie') res.setHeader(name, value);
    }
    const cookies = response.headers.getSetCookie();
    if (cookies.length > 0) res.appendHeader('set-cookie', cookies);
    if (closes) res.setHeader('connection', 'close');
  } catch (error) {
    discardBody(response);
    for (const name of res.getHeaderNames()) res.removeHeader(name);
    for (const [name, value] of Object.entries(earlier)) if (value !== undefined) res.setHeader(name, value);
    throw error;
  }
  res.statusCode = response.status;
  res.statusMessage = response.statusText;
}

/** Resolves when the request is complete or broken off, or has had its time. */
function receiveRest(req: IncomingMessage): Promise<void> {
  return new Promise((resolve) => {
    const done = (): void => {
      clearTimeout(timer);
      resolve();
    };
    const timer = setTimeout(done, LINGER_MS);
    req.once('close', done);
    // Nobody gets any more what somebody may still wait for, and while they listen it does not flow.
    req.removeAllListeners('readable').resume();
  });
}

function discardBody(response: Response): void {
  response.body?.cancel().catch(() => {});
}
