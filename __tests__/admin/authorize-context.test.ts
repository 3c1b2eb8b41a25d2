import type { AuthorizeInfo } from '../../lib/admin/authorize.js';
import { createAdminHandler } from '../../lib/admin/handler.js';
import { ROUTES } from '../../lib/admin/routes.js';
import type { Sender } from '../../lib/sender/sender.js';
import { recordingLogger } from '../support/sender.js';
import { anId, expectError } from './expectations.js';
import { type Answer, answerOf, openPlane, type Plane, requestOf } from './plane.js';

let plane: Plane;
beforeAll(async () => {
  plane = await openPlane({ lifetime: 'file' });
});

describe('§5.1 what the callback is told', () => {
  const heard: AuthorizeInfo[] = [];
  const listen = (_request: Request, info: AuthorizeInfo) => heard.push(info) === 0;
  beforeEach(() => void heard.splice(0));

  const ask = (route: string): Promise<Answer> =>
    answerOf(createAdminHandler(plane.sender, { authorize: listen })(requestOf(route)));

  it.each(ROUTES)('the operation and the ids of $method $path', async ({ operation, method, path }) => {
    const id = 'a b/ü%2F..';
    await ask(`${method} ${path.replace(':id', encodeURIComponent(id))}?x=1`);
    expect(heard).toEqual([{ operation, params: path.includes(':id') ? { id } : {}, host: undefined }]);
  });

  it.each(ROUTES.filter(({ method }) => method === 'GET'))('HEAD of $path is that GET', async (route) => {
    await ask(`HEAD ${route.path.replace(':id', 'x')}`);
    expect(heard).toMatchObject([{ operation: route.operation }]);
  });

  it.each([
    'GET /',
    'GET /nowhere',
    'PUT /endpoints',
    'GET /endpoints/%zz',
    'OPTIONS /endpoints',
    'DELETE /messages/x',
  ])('no operation and no ids for %s', async (route) => {
    const answer = await ask(route);
    expect(heard).toEqual([{ operation: null, params: {}, host: undefined }]);
    expectError(answer, 'FORBIDDEN', 'No access');
  });

  it('what the host has at hand', async () => {
    const host = { req: {}, res: {} };
    const handler = createAdminHandler(plane.sender, { authorize: listen });
    await handler(requestOf('GET /health'), { host });
    expect(heard[0]!.host).toBe(host);
  });
});

describe('§5.4 without a callback', () => {
  it('every request is answered 403, which is logged once per handler', async () => {
    const logger = recordingLogger();
    const onError = jest.fn();
    for (const round of [1, 2]) {
      const handler = createAdminHandler(plane.sender, { logger, onError });
      for (const { method, path } of ROUTES) {
        for (const verb of [method, 'HEAD', 'PUT', 'OPTIONS']) {
          expect((await handler(requestOf(`${verb} ${path}`))).status).toBe(403);
        }
      }
      expectError(await answerOf(handler(requestOf('GET /nowhere'))), 'FORBIDDEN');
      expect(logger.entries).toHaveLength(round);
    }
    expect(logger.entries.every(({ level }) => level === 'warn')).toBe(true);
    expect(onError).not.toHaveBeenCalled();
  });

  it('a callback that is no function is refused at once', () => {
    for (const authorize of [true, null, 'yes', {}]) {
      const options = { authorize: authorize as unknown as () => boolean };
      expect(() => createAdminHandler(plane.sender, options)).toThrow('authorize must be a function');
    }
  });
});

test('options in place of the sender are refused at once', () => {
  const authorize = () => true;
  for (const sender of [{ authorize }, undefined, null, {}]) {
    expect(() => createAdminHandler(sender as unknown as Sender, { authorize })).toThrow(
      expect.objectContaining({
        code: 'INVALID_OPTIONS',
        message: expect.stringContaining('needs a sender'),
      }),
    );
  }
});

describe('a fault is told', () => {
  const authorize = () => {
    throw new Error('down');
  };

  it('to the logger when there is no onError', async () => {
    const logger = recordingLogger();
    await createAdminHandler(plane.sender, { authorize, logger })(requestOf('GET /health'));
    const fields = { requestId: anId('req'), error: expect.stringContaining('down') };
    expect(logger.entries).toEqual([{ level: 'error', message: expect.any(String), fields }]);
  });

  it.each([
    [
      'throws',
      () => {
        throw new Error('second');
      },
    ],
    [
      'rejects',
      async () => {
        throw new Error('second');
      },
    ],
  ])('to the logger when onError %s', async (_name, failing) => {
    const logger = recordingLogger();
    const handler = createAdminHandler(plane.sender, { authorize, logger, onError: failing });
    expectError(await answerOf(handler(requestOf('GET /health'))), 'FORBIDDEN');
    await new Promise(setImmediate);
    const fields = { requestId: anId('req'), error: expect.stringContaining('second') };
    expect(logger.entries).toEqual([{ level: 'error', message: expect.any(String), fields }]);
  });

  it('and the answer is the same when the logger throws', async () => {
    const fail = () => {
      throw new Error('the logger');
    };
    const logger = { error: fail, warn: fail, info: fail, debug: fail };
    for (const options of [{ authorize, logger }, { authorize, logger, onError: fail }, { logger }]) {
      const handler = createAdminHandler(plane.sender, options);
      expectError(await answerOf(handler(requestOf('GET /health'))), 'FORBIDDEN');
    }
  });
});
