import { createServer, type IncomingHttpHeaders, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { type Lifetime, onCleanUp } from './clean-up.js';
import { waitFor } from './wait-for.js';

/** A request as it arrived, recorded before it is answered. */
export interface ReceivedRequest {
  method: string;
  /** Path and query. */
  path: string;
  headers: IncomingHttpHeaders;
  rawBody: Buffer;
}

/**
 * How a request is answered: with a status; with a status, headers and a body; or by code, which may take its time or
 * never end the response.
 */
export type Answer =
  | number
  | { status?: number; headers?: Record<string, string>; body?: string | Buffer }
  | ((request: ReceivedRequest, response: ServerResponse) => unknown);

export interface Receiver {
  port: number;
  /** The URL of a path: `url('/a')`. */
  url(path?: string): string;
  /** What has arrived, in its order; for one path when it is given. */
  requests(path?: string): ReceivedRequest[];
  /** Scripts a path: the first answer to its next request, and so on; the last one is repeated. Unscripted: 200. */
  answer(path: string, ...answers: Answer[]): void;
  /** Keeps the requests of a path waiting until `release`, which answers those and all that follow. */
  hold(path: string): { release(answer?: Answer): void };
  /** Resolves when at least `count` requests have arrived (at the path, when it is given), with those. */
  waitFor(count: number, path?: string): Promise<ReceivedRequest[]>;
  close(): Promise<void>;
}

/** A real HTTP server on a free port of 127.0.0.1; it closes itself when its lifetime ends. */
export async function startReceiver(lifetime: Lifetime = 'test'): Promise<Receiver> {
  const received: ReceivedRequest[] = [];
  const scripts = new Map<string, Answer[]>();
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      const { method = '', url: path = '', headers } = request;
      const each: ReceivedRequest = { method, path, headers, rawBody: Buffer.concat(chunks) };
      received.push(each);
      const script = scripts.get(path);
      const answer = (script && script.length > 1 ? script.shift() : script?.[0]) ?? 200;
      respond(answer, each, response);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;

  const receiver: Receiver = {
    port,
    url: (path = '/') => `http://127.0.0.1:${port}${path}`,
    requests: (path) => received.filter((each) => path === undefined || each.path === path),
    answer: (path, ...answers) => void scripts.set(path, answers),
    hold(path) {
      const waiting: [ReceivedRequest, ServerResponse][] = [];
      scripts.set(path, [(request, response) => waiting.push([request, response])]);
      return {
        release(answer = 200) {
          scripts.set(path, [answer]);
          for (const [request, response] of waiting.splice(0)) respond(answer, request, response);
        },
      };
    },
    async waitFor(count, path) {
      await waitFor(() => receiver.requests(path).length >= count).catch(() => {
        const paths = received.map((each) => each.path).join(', ');
        throw new Error(`${count} requests${path ? ` to ${path}` : ''} did not arrive; arrived: ${paths}`);
      });
      return receiver.requests(path);
    },
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
  onCleanUp(lifetime, 'receiver', receiver.close);
  return receiver;
}

function respond(answer: Answer, request: ReceivedRequest, response: ServerResponse): void {
  if (typeof answer === 'function') {
    answer(request, response);
    return;
  }
  const { status = 200, headers = {}, body = '' } = typeof answer === 'number' ? { status: answer } : answer;
  response.writeHead(status, headers).end(body);
}
