import { EventEmitter, once } from 'node:events';
import type { IncomingMessage } from 'node:http';
import express from 'express';
import { jsonAnswer, toResponse } from '../../lib/admin/response.js';
import { type FetchHandler, fetchMiddleware } from '../support/fetch-middleware.js';
import { exchange, open, send, servers } from './http.js';

const serve = servers();
const onError = jest.fn();
beforeEach(() => onError.mockClear());

function answering(response: () => Response): Promise<number> {
  return serve(fetchMiddleware(async () => response(), { onError }));
}

/** A body that nobody ends; `controlled` gets hold of its controller. */
function openStream(cancel: (reason: unknown) => void = () => {}): {
  stream: ReadableStream<Uint8Array>;
  controller: ReadableStreamDefaultController<Uint8Array>;
} {
  let controller: ReadableStreamDefaultController<Uint8Array> | undefined;
  const stream = new ReadableStream<Uint8Array>({
    start(given) {
      controller = given;
    },
    cancel,
  });
  if (!controller) throw new Error('A stream starts when it is made');
  return { stream, controller };
}

describe('a body of the control plane', () => {
  it('is written at once, with its length in bytes', async () => {
    const port = await answering(() => toResponse(jsonAnswer(200, { é: 1 })));
    const { headers, text } = await send(port);
    expect([text, headers['content-length'], headers['transfer-encoding']]).toEqual([
      '{"é":1}',
      '8',
      undefined,
    ]);
  });

  it('tells its length to a HEAD', async () => {
    const port = await answering(() => toResponse(jsonAnswer(200, { é: 1 })));
    const { headers, text } = await send(port, { method: 'HEAD' });
    expect([text, headers['content-length']]).toEqual(['', '8']);
  });

  it('that was left out for a HEAD tells no length', async () => {
    const port = await answering(() => toResponse({ ...jsonAnswer(200, {}), body: null }));
    const { headers } = await send(port, { method: 'HEAD' });
    expect(headers).not.toHaveProperty('content-length');
  });

  it('that is not there is an empty one', async () => {
    const port = await answering(() => toResponse(jsonAnswer(202, undefined)));
    const { status, headers, text } = await send(port);
    expect([status, headers['content-length'], text]).toEqual([202, '0', '']);
  });
});

describe('a body that is a stream', () => {
  it('arrives as it comes', async () => {
    const { stream, controller } = openStream();
    const port = await answering(() => new Response(stream));
    const request = open(port, {});
    request.end();
    controller.enqueue(Buffer.from('first'));
    const [response] = (await once(request, 'response')) as [IncomingMessage];
    const [first] = await once(response, 'data');
    controller.enqueue(Buffer.from('second'));
    const [second] = await once(response, 'data');
    controller.close();
    await once(response, 'end');
    expect([String(first), String(second)]).toEqual(['first', 'second']);
  });

  it('is cancelled when the client leaves, which is no error', async () => {
    const handling = new EventEmitter();
    const { stream, controller } = openStream(() => handling.emit('cancelled'));
    const port = await answering(() => new Response(stream));
    const request = open(port, {}).on('error', () => {});
    request.end();
    controller.enqueue(Buffer.from('first'));
    const [response] = (await once(request, 'response')) as [IncomingMessage];
    const cancelled = once(handling, 'cancelled');
    response.destroy();
    await cancelled;
    await new Promise(setImmediate);
    expect(onError).not.toHaveBeenCalled();
  });

  it('that fails midway breaks the connection off, and the server lives on', async () => {
    const { stream, controller } = openStream();
    const error = new Error('storage went away');
    const port = await answering(() => new Response(stream));
    const request = open(port, {});
    request.end();
    controller.enqueue(Buffer.from('first'));
    const [response] = (await once(request, 'response')) as [IncomingMessage];
    response.resume();
    controller.error(error);
    await expect(once(response, 'end')).rejects.toMatchObject({ code: 'ECONNRESET' });
    expect(onError.mock.calls).toEqual([[error, { requestId: expect.any(String) }]]);
    expect((await send(port)).status).toBe(500);
  });

  it('is not read for a HEAD', async () => {
    const cancelled = jest.fn();
    const port = await answering(() => new Response(openStream(cancelled).stream));
    expect((await send(port, { method: 'HEAD' })).status).toBe(200);
    expect(cancelled).toHaveBeenCalled();
  });
});

describe('a response that cannot be sent', () => {
  it.each([
    [
      'has been read',
      async () => {
        const response = new Response('text', { headers: { 'x-a': '1' } });
        await response.text();
        return response;
      },
    ],
    [
      'has been read in part',
      async () => {
        const response = new Response('text', { headers: { 'x-a': '1' } });
        const reader = response.body?.getReader();
        await reader?.read();
        reader?.releaseLock();
        return response;
      },
    ],
    [
      'is being read',
      async () => {
        const response = new Response('text', { headers: { 'x-a': '1' } });
        response.body?.getReader();
        return response;
      },
    ],
    ['is an error response', async () => Response.error()],
    [
      'has a header that Node.js refuses',
      async () => new Response('x', { headers: { 'x-a': '1', 'x-b': '\u0001' } }),
    ],
  ])('because it %s is answered 500', async (_why, handler: FetchHandler) => {
    const port = await serve(fetchMiddleware(handler, { onError }));
    const { status, headers, text } = await send(port);
    expect([status, JSON.parse(text)]).toMatchObject([500, { errorCode: 'INTERNAL' }]);
    expect(headers).not.toHaveProperty('x-a');
    expect(onError).toHaveBeenCalledTimes(1);
  });

  it('leaves the headers that were set before it', async () => {
    const bad = fetchMiddleware(
      async () => new Response('x', { headers: { 'x-frame-options': '1', 'x-z': '\u0001' } }),
    );
    const app = express().use((_req, res, next) => {
      res.set({ 'x-frame-options': 'DENY', 'set-cookie': ['a=1', 'b=2'] });
      next();
    });
    const { status, headers } = await send(await serve(app.use(bad)));
    expect(status).toBe(500);
    expect(headers).toMatchObject({ 'x-frame-options': 'DENY', 'set-cookie': ['a=1', 'b=2'] });
  });

  it('because the client has left is dropped', async () => {
    const handling = new EventEmitter();
    const port = await serve(
      fetchMiddleware(
        async ({ signal }) => {
          handling.emit('entered');
          await once(signal, 'abort');
          return new Response(openStream(() => handling.emit('cancelled')).stream);
        },
        { onError },
      ),
    );
    const entered = once(handling, 'entered');
    const cancelled = once(handling, 'cancelled');
    const request = open(port, {}).on('error', () => {});
    request.end();
    await entered;
    request.destroy();
    await cancelled;
    await new Promise(setImmediate);
    expect(onError).not.toHaveBeenCalled();
  });

  it('because another one has begun is dropped', async () => {
    const cancelled = jest.fn();
    const port = await serve(
      fetchMiddleware(
        async (_request, { host }) => {
          host.res.writeHead(503).write('timed ');
          setImmediate(() => host.res.end('out'));
          return new Response(openStream(cancelled).stream, { headers: { 'x-late': '1' } });
        },
        { onError },
      ),
    );
    const { status, text } = await send(port);
    expect([status, text]).toEqual([503, 'timed out']);
    expect(cancelled).toHaveBeenCalled();
    expect(onError).not.toHaveBeenCalled();
  });
});

describe('the status line', () => {
  it('has the status text of the response', async () => {
    const port = await answering(() => new Response('', { status: 418, statusText: 'Short and stout' }));
    expect(await exchange(port, 'GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n')).toMatch(
      /^HTTP\/1\.1 418 Short and stout\r\n/,
    );
  });

  it('has the usual text of its status when the response has none', async () => {
    const port = await answering(() => new Response('', { status: 404 }));
    expect(await exchange(port, 'GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n')).toMatch(
      /^HTTP\/1\.1 404 Not Found\r\n/,
    );
  });
});
