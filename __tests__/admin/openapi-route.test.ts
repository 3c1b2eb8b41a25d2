import express from 'express';
import request from 'supertest';
import { createAdminHandler } from '../../lib/admin/handler.js';
import { openApiDocument } from '../../lib/admin/openapi/document.js';
import type { Sender } from '../../lib/sender/sender.js';
import { adminMiddleware } from '../../lib/express/index.js';
import { takeProblems } from '../support/check-answers.js';
import { expectAnswer, expectError } from './expectations.js';
import { answerOf, openPlane, type Plane, requestOf } from './plane.js';

let plane: Plane;
beforeAll(async () => {
  plane = await openPlane({ lifetime: 'file' });
});

const authorize = () => true;
const documentAt = (serverUrl: string): unknown => JSON.parse(JSON.stringify(openApiDocument({ serverUrl })));

describe('GET /openapi.json', () => {
  it('answers the document', async () => {
    expectAnswer(await plane.ask('GET /openapi.json'), 200, documentAt('/'));
  });

  it('answers it to a caller that is bound to a tenant', async () => {
    expectAnswer(await plane.ask('GET /openapi.json', { as: 'acme' }), 200, documentAt('/'));
  });

  it('is authorized like every other route', async () => {
    const seen: unknown[] = [];
    const handler = createAdminHandler(plane.sender, { authorize: (_, info) => seen.push(info) === 0 });
    expectError(await answerOf(handler(requestOf('GET /openapi.json'))), 'FORBIDDEN');
    expect(seen).toEqual([{ operation: 'openapi.get', params: {}, host: undefined }]);
  });

  it('answers while the store is away', async () => {
    const closed = await openPlane();
    await closed.sender.stop();
    expect((await closed.ask('GET /openapi.json')).status).toBe(200);
  });

  it('names the base path as the server', async () => {
    const handler = createAdminHandler(plane.sender, { authorize, basePath: '/api/admin/' });
    for (const path of ['/api/admin/openapi.json', '/api/admin/openapi.json/']) {
      expectAnswer(await answerOf(handler(requestOf(`GET ${path}`))), 200, documentAt('/api/admin'));
    }
  });

  it('names the mount that Express has it at, each where it has several', async () => {
    const middleware = adminMiddleware(plane.sender, { authorize });
    const app = express();
    app.use('/admin', middleware);
    app.use('/tenants/:tenant', express.Router().use('/hooks', middleware));
    for (const mount of ['/admin', '/tenants/acme/hooks', '/tenants/other/hooks', '/admin']) {
      const { body, headers } = await request(app).get(`${mount}/openapi.json`).expect(200);
      expect(body).toEqual(documentAt(mount));
      expect(headers['content-type']).toBe('application/json; charset=utf-8');
    }
  });
});

describe('every answer in the tests is held against the document', () => {
  /** The answer of a control plane whose sender says this of its health. */
  async function told(health: () => Promise<unknown>): Promise<string[]> {
    const handler = createAdminHandler({ health } as unknown as Sender, { authorize, onError: () => {} });
    await handler(requestOf('GET /health'));
    return takeProblems();
  }
  const healthy = { ok: true, outboxDepth: 0, oldestPendingAge: null, workerCount: 1 };

  it('which has no objection to what it says', async () => {
    expect(await told(async () => healthy)).toEqual([]);
  });

  it.each([
    ['a field that it does not have', { ...healthy, colour: 'red' }, 'unevaluated'],
    ['a field that is missing', { ...healthy, workerCount: undefined }, 'workerCount'],
    ['a field of another type', { ...healthy, outboxDepth: '0' }, 'outboxDepth'],
    ['a word that it does not know', { ...healthy, reason: 'tired' }, 'reason'],
  ])('which notices %s', async (_name, health, mentioned) => {
    expect(await told(async () => health)).toEqual([expect.stringContaining(mentioned)]);
  });

  it('which notices a status that it does not have', async () => {
    const error = Object.assign(new Error('none'), { name: 'HookplaneError', code: 'MESSAGE_NOT_FOUND' });
    expect(await told(() => Promise.reject(error))).toEqual([expect.stringContaining('no such status')]);
  });

  it('also when Express is in between', async () => {
    const sender = { health: async () => ({ ...healthy, colour: 'red' }) } as unknown as Sender;
    const app = express().use('/admin', adminMiddleware(sender, { authorize }));
    await request(app).get('/admin/health').expect(200);
    expect(takeProblems()).toEqual([expect.stringContaining('GET /health (health) was answered 200')]);
  });
});
