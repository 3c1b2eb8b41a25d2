import { EventEmitter, once } from 'node:events';
import { connect } from 'node:net';
import { gzipSync } from 'node:zlib';
import express, { type RequestHandler } from 'express';
import { type FetchHandler, fetchMiddleware } from '../support/fetch-middleware.js';
import { type Echo, echo } from './echo.js';
import { open, type Sent, send, servers } from './http.js';

const serve = servers();
const JSON_TYPE = { 'content-type': 'application/json' };

const onError = jest.fn();
beforeEach(() => onError.mockClear());

function serveBehind(steps: RequestHandler[], handler: FetchHandler = echo): Promise<number> {
  const app = express();
  for (const step of steps) app.use(step);
  return serve(app.use('/admin', fetchMiddleware(handler, { onError })));
}

async function heard(port: number, sent: Sent): Promise<Echo> {
  const answer = await send(port, { method: 'POST', path: '/admin/x', headers: JSON_TYPE, ...sent });
  return JSON.parse(answer.text) as Echo;
}

/** Answers with how the reading of the body failed. */
const failure: FetchHandler = async (request) => {
  const error = await request.text().then(
    (text) => `no error, but ${text}`,
    (reason: unknown) => String(reason),
  );
  return new Response(error);
};

describe('a body that nobody has read', () => {
  it('is not read for a caller who is refused', async () => {
    let didRead: boolean | undefined;
    const port = await serve(
      fetchMiddleware(async (_request, { host }) => {
        didRead = host.req.readableDidRead;
        return new Response('no', { status: 403 });
      }),
    );
    await send(port, { method: 'POST', body: '{"a":1}' });
    expect(didRead).toBe(false);
  });

  it('is not read by cloning the request', async () => {
    let didRead: boolean | undefined;
    const port = await serve(
      fetchMiddleware(async (request, { host }) => {
        request.clone();
        await new Promise(setImmediate);
        didRead = host.req.readableDidRead;
        return new Response('no', { status: 403 });
      }),
    );
    await send(port, { method: 'POST', body: '{"a":1}' });
    expect(didRead).toBe(false);
  });

  it('is read no faster than it is taken', async () => {
    const read: number[] = [];
    const port = await serve(
      fetchMiddleware(async (request, { host }) => {
        const reader = request.body?.getReader();
        const first = await reader?.read();
        await new Promise(setImmediate);
        read.push(first?.value?.length ?? 0, host.req.readableLength);
        await reader?.cancel();
        return new Response('enough', { status: 413 });
      }),
    );
    await send(port, { method: 'POST', body: Buffer.alloc(5_000_000) });
    expect(Math.max(...read)).toBeLessThan(500_000);
  });

  it('arrives whole and unchanged when it is large', async () => {
    const sent = Buffer.alloc(3_000_000, 'a text whose length divides no power of two');
    const port = await serve(
      fetchMiddleware(async (request) => {
        const bytes = Buffer.from(await request.arrayBuffer());
        return new Response(String(bytes.equals(sent)));
      }),
    );
    expect((await send(port, { method: 'POST', body: sent })).text).toBe('true');
  });

  it('is given to a clone and to the original alike', async () => {
    const port = await serve(
      fetchMiddleware(async (request) => {
        const copy = request.clone();
        return Response.json([await copy.text(), await request.text()]);
      }),
    );
    const { text } = await send(port, { method: 'POST', body: 'once', chunked: true });
    expect(JSON.parse(text)).toEqual(['once', 'once']);
  });

  it('can be read into a buffer of the reader', async () => {
    const port = await serve(
      fetchMiddleware(async (request) => {
        const reader = request.body?.getReader({ mode: 'byob' });
        const first = await reader?.read(new Uint8Array(8));
        const last = await reader?.read(new Uint8Array(8));
        return Response.json([Buffer.from(first?.value ?? []).toString(), last?.done]);
      }),
    );
    expect((await send(port, { method: 'POST', body: 'bytes' })).text).toBe('["bytes",true]');
  });

  it('keeps the headers that describe it', async () => {
    const port = await serveBehind([]);
    const body = gzipSync('{"a":1}');
    const { headers } = await heard(port, { headers: { ...JSON_TYPE, 'content-encoding': 'gzip' }, body });
    expect(headers).toMatchObject({ 'content-encoding': 'gzip', 'content-length': String(body.length) });
  });

  it('fails when the client breaks it off', async () => {
    const handling = new EventEmitter();
    const ended = once(handling, 'ended');
    const port = await serve(
      fetchMiddleware(async (request) => {
        const reading = request.text();
        handling.emit('reading');
        await reading.catch((error: unknown) => handling.emit('ended', error));
        return new Response('never sent', { status: 400 });
      }),
    );
    const reading = once(handling, 'reading');
    const socket = connect(port, '127.0.0.1');
    socket.write('POST /x HTTP/1.1\r\nHost: a\r\nContent-Length: 100\r\n\r\nonly this');
    await reading;
    socket.destroy();
    const [error] = await ended;
    expect(error).toMatchObject({ code: 'ECONNRESET' });
  });

  it('fails at once when something else has read it meanwhile', async () => {
    const port = await serveBehind([], async (request, context) => {
      for await (const _chunk of context.host.req.iterator({ destroyOnReturn: false }));
      return failure(request, context);
    });
    const { text } = await send(port, { method: 'POST', path: '/admin', body: 'gone' });
    expect(text).toMatch(/read by something else/);
  });

  it('is taken when a parser has passed it over', async () => {
    const port = await serveBehind([express.json({ type: 'application/vnd.other' })]);
    expect((await heard(port, { body: '{"a":1}' })).body).toBe('{"a":1}');
  });

  it('can be cancelled while a read waits for the client', async () => {
    const handling = new EventEmitter();
    const port = await serve(
      fetchMiddleware(async (request) => {
        const reader = request.body?.getReader();
        const waiting = reader?.read();
        await new Promise(setImmediate);
        await reader?.cancel();
        return Response.json(await waiting);
      }),
    );
    const request = open(port, { method: 'POST', headers: { 'content-length': 100 } });
    request.on('error', () => {});
    request.on('response', (response) => handling.emit('answered', response.statusCode));
    const answered = once(handling, 'answered');
    request.flushHeaders();
    expect(await answered).toEqual([200]);
    request.destroy();
  });
});

describe('a body that a parser has read', () => {
  const eat: RequestHandler = (req, _res, next) => {
    req.resume().once('end', () => next());
  };

  it('has no header left that describes its former bytes', async () => {
    const port = await serveBehind([express.json()]);
    const gzip = { ...JSON_TYPE, 'content-encoding': 'gzip' };
    const { headers, body } = await heard(port, { headers: gzip, body: gzipSync('{"a":1}') });
    expect(body).toBe('{"a":1}');
    expect(headers['content-type']).toBe('application/json');
    for (const name of ['content-encoding', 'content-length', 'transfer-encoding']) {
      expect(headers).not.toHaveProperty(name);
    }
  });

  it('keeps numbers that JavaScript cannot hold when the parser keeps rawBody', async () => {
    const verify = (req: object, _res: unknown, rawBody: Buffer): void => {
      Object.assign(req, { rawBody });
    };
    const port = await serveBehind([express.json({ verify })]);
    const body = '{ "n": 123456789012345678901234567890, "e": 1e400 }';
    expect((await heard(port, { body })).body).toBe(body);
  });

  it('is taken from a rawBody that is text', async () => {
    const port = await serveBehind([
      express.json(),
      (req, _res, next) => {
        Object.assign(req, { rawBody: ' {} ' });
        next();
      },
    ]);
    expect((await heard(port, { body: ' {} ' })).body).toBe(' {} ');
  });

  it('is not serialised for a caller who is refused', async () => {
    const toJSON = jest.fn(() => 'serialised');
    const port = await serveBehind(
      [
        express.json(),
        (req, _res, next) => {
          req.body = { toJSON };
          next();
        },
      ],
      async () => new Response('no', { status: 403 }),
    );
    await send(port, { method: 'POST', path: '/admin', headers: JSON_TYPE, body: '{"a":1}' });
    expect(toJSON).not.toHaveBeenCalled();
  });

  it('fails at once when the parser has left nothing of it', async () => {
    const port = await serveBehind([eat], failure);
    const { text } = await send(port, { method: 'POST', path: '/admin', body: 'gone' });
    expect(text).toMatch(/neither req.body nor req.rawBody holds it/);
    expect(onError.mock.calls.map(([error]) => String(error))).toEqual([text]);
  });

  it('that is lost is no matter while nobody asks for it', async () => {
    const port = await serveBehind([eat], async () => new Response('no', { status: 403 }));
    expect((await send(port, { method: 'POST', path: '/admin', body: 'gone' })).status).toBe(403);
    expect(onError).not.toHaveBeenCalled();
  });

  it('fails at once when it cannot be serialised', async () => {
    const depth = 20_000;
    const port = await serveBehind([express.json()], failure);
    const body = `${'['.repeat(depth)}${']'.repeat(depth)}`;
    const { text } = await send(port, { method: 'POST', path: '/admin', headers: JSON_TYPE, body });
    expect(text).toMatch(/RangeError/);
    expect(onError).not.toHaveBeenCalled();
  });

  it('stays a form, nested fields included, with the content type of one', async () => {
    const port = await serveBehind([express.urlencoded({ extended: true })]);
    const form = 'application/x-www-form-urlencoded; charset=utf-8';
    const { headers, body } = await heard(port, {
      headers: { 'content-type': form },
      body: 'a[b]=1&a[c][]=2&a[c][]=3&d=%C3%A9',
    });
    expect(headers['content-type']).toBe(form);
    expect([...new URLSearchParams(body)]).toEqual([
      ['a[b]', '1'],
      ['a[c]', '2'],
      ['a[c]', '3'],
      ['d', 'é'],
    ]);
  });

  it('of some other type keeps that type', async () => {
    const port = await serveBehind([express.json({ type: '*/*' })]);
    const { headers, body } = await heard(port, {
      headers: { 'content-type': 'text/plain' },
      body: '{"a":1}',
    });
    expect([headers['content-type'], body]).toEqual(['text/plain', '{"a":1}']);
  });

  it('of 5 MB is handed over without delay', async () => {
    const port = await serveBehind([express.raw({ type: '*/*', limit: '6mb' })], async (request) => {
      return new Response(String((await request.arrayBuffer()).byteLength));
    });
    const { text } = await send(port, { method: 'POST', path: '/admin', body: Buffer.alloc(5_000_000) });
    expect(text).toBe('5000000');
  });
});
