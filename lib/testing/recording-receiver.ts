import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Payload } from '../model/message.js';

/** Below the 5 s that Jest and Vitest give a test, so that the failure says what was missing. */
const WAIT_MS = 3000;

/** A webhook as it arrived. */
export interface ReceivedWebhook {
  /** The `webhook-id`: the id of the message, the same on every attempt. */
  id: string;
  /** The type of the event; empty when a `transform` hook has made something else of it. */
  type: string;
  /** The body: the event, or what a `transform` hook has made of it. */
  payload: Payload;
  /** Whether the signature is right: by a secret, in force at the moment, of an endpoint that has this URL. */
  verified: boolean;
  /** The endpoint whose secret has signed it; null when it is not verified. */
  endpointId: string | null;
  /** Path and query. */
  path: string;
  /** By lower-case name. */
  headers: Record<string, string>;
  /** The body as it came. */
  body: string;
}

/** A status alone, or with headers and a body. */
export type ReceiverAnswer = number | { status?: number; headers?: Record<string, string>; body?: string };

/** An answer, or a function that is asked for it and may take its time. */
export type ReceiverScript =
  | ReceiverAnswer
  | ((request: ReceivedWebhook) => ReceiverAnswer | Promise<ReceiverAnswer>);

/** An HTTP server on 127.0.0.1 that keeps what it is sent. It answers every path. */
export interface RecordingReceiver {
  /** Where to send to: `http://127.0.0.1:<port>/webhooks`. Any path below it will do as well. */
  readonly url: string;
  /** What has arrived, in its order. */
  readonly requests: readonly ReceivedWebhook[];
  /** Scripts the answers: the first to the next request, and so on; the last one is repeated. Unscripted: 200. */
  respond(...answers: ReceiverScript[]): void;
  /**
   * Resolves when at least `count` requests have arrived, with all of them: for what is sent without `deliverDue`, such
   * as a test event.
   * @param options.timeoutMs rejects after it; default 3000
   */
  waitFor(count: number, options?: { timeoutMs?: number }): Promise<readonly ReceivedWebhook[]>;
  /** Forgets what has arrived and what was scripted. */
  reset(): void;
}

/** Who has signed a request, by its own record of it. */
export type VerifySender = (request: ReceivedWebhook) => Promise<string | null>;

export async function startReceiver(
  verify: VerifySender,
): Promise<RecordingReceiver & { close(): Promise<void> }> {
  const requests: ReceivedWebhook[] = [];
  let script: ReceiverScript[] = [];
  const waiting = new Set<() => void>();

  async function receive(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const webhook = readWebhook(request, await readBody(request));
    if (!webhook) {
      response.writeHead(400).end('This is no webhook: its body is not JSON.');
      return;
    }
    requests.push(webhook);
    const next = (script.length > 1 ? script.shift() : script[0]) ?? 200;
    webhook.endpointId = await verify(webhook);
    webhook.verified = webhook.endpointId !== null;
    for (const check of waiting) check();
    const answer = typeof next === 'function' ? await next(webhook) : next;
    const {
      status = 200,
      headers = {},
      body = '',
    } = typeof answer === 'number' ? { status: answer } : answer;
    response.writeHead(status, headers).end(body);
  }

  const server = createServer((request, response) => {
    receive(request, response).catch((error) => {
      // Where a test looks for it: in the attempt's record.
      if (!response.headersSent) response.writeHead(500);
      response.end(`The receiver's script failed: ${String(error)}`);
    });
  });
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(0, '127.0.0.1', resolve);
  });
  // A test that forgets to stop it must not keep its process alive.
  server.unref();
  const { port } = server.address() as AddressInfo;

  return {
    url: `http://127.0.0.1:${port}/webhooks`,
    requests,
    respond(...answers) {
      script = answers;
    },
    waitFor(count, { timeoutMs = WAIT_MS } = {}) {
      return new Promise((resolve, reject) => {
        const timer = setTimeout(() => {
          waiting.delete(check);
          reject(new Error(`${requests.length} of ${count} requests arrived within ${timeoutMs} ms`));
        }, timeoutMs);
        function check(): void {
          if (requests.length < count) return;
          clearTimeout(timer);
          waiting.delete(check);
          resolve(requests);
        }
        waiting.add(check);
        check();
      });
    },
    reset() {
      requests.length = 0;
      script = [];
    },
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

async function readBody(request: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks).toString();
}

function readWebhook(request: IncomingMessage, body: string): ReceivedWebhook | null {
  const headers: Record<string, string> = {};
  for (const [name, value] of Object.entries(request.headers)) headers[name] = String(value);
  let payload: Payload;
  try {
    payload = JSON.parse(body);
  } catch {
    return null;
  }
  return {
    id: headers['webhook-id'] ?? '',
    type: typeof payload?.type === 'string' ? payload.type : '',
    payload,
    verified: false,
    endpointId: null,
    path: request.url ?? '',
    headers,
    body,
  };
}
