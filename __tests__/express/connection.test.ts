import { once } from 'node:events';
import http from 'node:http';
import { connect, type Socket } from 'node:net';
import { jsonAnswer, toResponse } from '../../lib/admin/response.js';
import { type FetchHandler, fetchMiddleware } from '../support/fetch-middleware.js';
import { exchange, send, servers } from './http.js';

const serve = servers();

describe('the connection', () => {
  const body = '{"errorCode":"FORBIDDEN"}';
  const deny: FetchHandler = async () => toResponse(jsonAnswer(403, { errorCode: 'FORBIDDEN' }));
  const denying = fetchMiddleware(deny);
  const large = Buffer.alloc(5_000_000);

  it('is kept when the request is complete', async () => {
    const port = await serve(denying);
    const { headers } = await send(port, {
      method: 'POST',
      body: '{}',
      headers: { connection: 'keep-alive' },
    });
    expect(headers.connection).toBe('keep-alive');
  });

  it.each(['POST', 'GET', 'TRACE'])(
    'is to be closed when the body of a %s is still to come',
    async (method) => {
      const port = await serve(denying);
      const head = `${method} / HTTP/1.1\r\nHost: a\r\nContent-Length: 100\r\n\r\nbegun`;
      expect(await exchange(port, head, body)).toMatch(
        /^HTTP\/1\.1 403 Forbidden\r\n.*connection: close\r\n/is,
      );
    },
  );

  it('is to be closed when a chunked body is still to come', async () => {
    const port = await serve(denying);
    const head = 'POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nbegun\r\n';
    expect(await exchange(port, head, body)).toMatch(
      /^HTTP\/1\.1 403 Forbidden\r\n.*connection: close\r\n/is,
    );
  });

  it('is to be closed for an answer without a body, too', async () => {
    const port = await serve(fetchMiddleware(async () => new Response(null, { status: 204 })));
    const head = 'DELETE / HTTP/1.1\r\nHost: a\r\nContent-Length: 100\r\n\r\nbegun';
    expect(await exchange(port, head, '\r\n\r\n')).toMatch(
      /^HTTP\/1\.1 204 No Content\r\nconnection: close\r\n/i,
    );
  });

  it('is closed after a body that the handler has stopped reading', async () => {
    const port = await serve(
      fetchMiddleware(async (request) => {
        const reader = request.body?.getReader();
        await reader?.read();
        await reader?.cancel();
        return new Response('too large', { status: 413 });
      }),
    );
    const { status, headers, text } = await send(port, { method: 'POST', body: large });
    expect([status, headers.connection, text]).toEqual([413, 'close', 'too large']);
  });

  it('that is closed never takes what follows the body for a request', async () => {
    const handler = jest.fn(deny);
    const port = await serve(fetchMiddleware(handler));
    const rest = 'GET /smuggled HTTP/1.1\r\nHost: a\r\n\r\n';
    const head = `POST / HTTP/1.1\r\nHost: a\r\nContent-Length: ${large.length}\r\n\r\n`;
    await exchange(port, Buffer.concat([Buffer.from(head), large, Buffer.from(rest)]));
    expect(handler).toHaveBeenCalledTimes(1);
  });

  it('is not reset before the client has read the answer', async () => {
    const port = await serve(denying);
    const answers = await Promise.all(
      Array.from({ length: 10 }, () => fetch(`http://127.0.0.1:${port}/`, { method: 'POST', body: large })),
    );
    expect(await Promise.all(answers.map((answer) => answer.text()))).toEqual(
      Array.from({ length: 10 }, () => body),
    );
  });

  describe('that is to be closed', () => {
    beforeEach(() => {
      const others = [
        'nextTick',
        'setImmediate',
        'queueMicrotask',
        'setInterval',
        'Date',
        'performance',
      ] as const;
      jest.useFakeTimers({ doNotFake: [...others] });
    });
    afterEach(() => jest.useRealTimers());

    async function denied(port: number): Promise<Socket> {
      const socket = connect(port, '127.0.0.1');
      socket.write('POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 100\r\n\r\nbegun');
      const [answer] = await once(socket, 'data');
      expect(String(answer)).toContain(body);
      return socket.resume();
    }

    it('ends as soon as the client has sent its body', async () => {
      const socket = await denied(await serve(denying));
      const ended = once(socket, 'end');
      socket.write('x'.repeat(95));
      await ended;
    });

    it('ends after a while although the client neither sends its body nor leaves', async () => {
      const socket = await denied(await serve(denying));
      const ended = once(socket, 'end');
      jest.advanceTimersByTime(1000);
      await ended;
    });
  });

  it('serves the next request of the same agent after 5 MB that nobody read', async () => {
    const agent = new http.Agent({ keepAlive: true, maxSockets: 1 });
    const port = await serve(denying);
    const first = await send(port, { method: 'POST', body: large, agent });
    const second = await send(port, { agent });
    agent.destroy();
    expect([first.status, second.status]).toEqual([403, 403]);
  });
});
