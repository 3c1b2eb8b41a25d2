import { tmpdir } from 'node:os';
import Database from 'better-sqlite3';
import { createAdminHandler } from '../../lib/admin/handler.js';
import { errorAnswer, STATUS_BY_CODE, toResponse } from '../../lib/admin/response.js';
import { ROUTES } from '../../lib/admin/routes.js';
import { type ErrorCode, HookplaneError } from '../../lib/model/errors.js';
import type { Sender } from '../../lib/sender/sender.js';
import { sqliteStore } from '../../lib/store/sqlite.js';
import { onCleanUp } from '../support/clean-up.js';
import { startSender } from '../support/sender.js';
import {
  alterAt,
  type ApplicationDatabase,
  applicationDatabase,
  newPlace,
  onPostgres,
  storeAt,
} from '../support/test-store.js';
import { anId, expectAnswer, expectOwnHeaders } from './expectations.js';
import { plantTenant, type PlantedTenant } from './planted.js';
import { type Answer, answerOf, openPlane, type Plane, requestOf } from './plane.js';
import { REQUESTS } from './route-cases.js';

/** Words that only the inside knows. */
const INSIDE =
  /sqlite|postgres|relation|schema "|hookplane_|select |insert |\.ts|\.js|node_modules|at .*\(|kysely/i;

/** A 5xx: its code and sentence, a request id that `onError` was given too, and nothing else. */
function expectFailure(
  answer: Answer,
  plane: Pick<Plane, 'faults'>,
  status: 500 | 503,
  errorCode: string,
): void {
  expect({ status: answer.status, body: answer.body }).toEqual({
    status,
    body: { errorCode, error: expect.any(String), requestId: anId('req') },
  });
  expect(answer.text).not.toMatch(INSIDE);
  expect(answer.text).not.toContain(tmpdir());
  expect(answer.headers.get('retry-after')).toBe(status === 503 ? '5' : null);
  expectOwnHeaders(answer);
  expect(plane.faults.map(({ requestId }) => requestId)).toContain(answer.body.requestId);
}

it('§7 every code has its status', () => {
  expect(STATUS_BY_CODE).toEqual({
    INVALID_QUERY: 400,
    INVALID_BODY: 400,
    UNAUTHORIZED: 401,
    FORBIDDEN: 403,
    ENDPOINT_NOT_FOUND: 404,
    MESSAGE_NOT_FOUND: 404,
    TENANT_NOT_FOUND: 404,
    ROUTE_NOT_FOUND: 404,
    METHOD_NOT_ALLOWED: 405,
    ENDPOINT_DISABLED: 409,
    IDEMPOTENCY_CONFLICT: 409,
    SECRET_SEALED: 409,
    BODY_TOO_LARGE: 413,
    UNSUPPORTED_MEDIA_TYPE: 415,
    ENDPOINT_VALIDATION: 422,
    MESSAGE_VALIDATION: 422,
    TENANT_VALIDATION: 422,
    REPLAY_VALIDATION: 422,
    INTERNAL: 500,
    MIGRATION_REQUIRED: 503,
    STORE_UNAVAILABLE: 503,
  });
});

it.each(Object.entries(STATUS_BY_CODE))('§7 an error of code %s is answered %i', async (code, status) => {
  const issues = [{ path: 'url', message: 'is wrong' }];
  const error = new HookplaneError(
    code as ErrorCode,
    'What is wrong',
    code.endsWith('_VALIDATION') ? { issues } : {},
  );
  const answer = await answerOf(Promise.resolve(toResponse(errorAnswer(error, () => 'req_1'))));
  expectAnswer(answer, status, {
    errorCode: code,
    error: 'What is wrong',
    ...(code.endsWith('_VALIDATION') && { issues }),
    ...(status >= 500 && { requestId: 'req_1' }),
  });
});

const USING_STORE = ROUTES.filter(({ storeless }) => !storeless).map(({ operation }) => operation);

function askAs(plane: Plane, tenant: PlantedTenant, operation: string, as?: string): Promise<Answer> {
  const { route, json } = REQUESTS[operation]!(tenant);
  return plane.ask(route, { json, ...(as !== undefined && { as }) });
}

describe('a store that does not answer', () => {
  let plane: Plane;
  let tenant: PlantedTenant;
  beforeEach(async () => {
    plane = await openPlane();
    tenant = await plantTenant(plane, 'acme', 'mark');
  });

  it.each(USING_STORE)('§7 stopped underneath: %s is 503 STORE_UNAVAILABLE', async (operation) => {
    await plane.sender.stop();
    expectFailure(await askAs(plane, tenant, operation), plane, 503, 'STORE_UNAVAILABLE');
    expectFailure(await askAs(plane, tenant, operation, 'acme'), plane, 503, 'STORE_UNAVAILABLE');
    expect(plane.faults).toHaveLength(2);
  });
});

describe('a database of the application', () => {
  let database: ApplicationDatabase;
  let plane: Plane;
  beforeEach(async () => {
    database = await applicationDatabase();
    plane = await openPlane({ file: database.place, store: database.store });
  });

  it('§7 that is closed: every route is 503 STORE_UNAVAILABLE', async () => {
    const tenant = await plantTenant(plane, 'acme', 'mark');
    await database.close();
    for (const operation of USING_STORE) {
      expectFailure(await askAs(plane, tenant, operation), plane, 503, 'STORE_UNAVAILABLE');
      expectFailure(await askAs(plane, tenant, operation, 'acme'), plane, 503, 'STORE_UNAVAILABLE');
    }
  });

  it('§7 that is full: what writes is 503, and works again when there is room', async () => {
    await database.fill();
    const metadata = Object.fromEntries(Array.from({ length: 200 }, (_, n) => [`k${n}`, 'x'.repeat(500)]));
    const asked = { json: { url: 'https://example.com/', metadata } };
    expectFailure(await plane.ask('POST /endpoints', asked), plane, 503, 'STORE_UNAVAILABLE');
    await database.clear();
    expect((await plane.ask('POST /endpoints', asked)).status).toBe(201);
  });

  it('§7 that is closed: health is 503 with its record, and is not reported', async () => {
    const record = { ok: false, outboxDepth: null, oldestPendingAge: null, workerCount: null };
    await database.close();
    for (const as of [{}, { as: 'acme' }]) {
      const answer = await plane.ask('GET /health', as);
      expectAnswer(answer, 503, { ...record, reason: 'store_unavailable' });
    }
    expect(plane.faults).toEqual([]);
  });

  it('§7 that is closed: what is wrong with a request is said before', async () => {
    await database.close();
    expect((await plane.ask('GET /endpoints?limit=0')).status).toBe(400);
    expect((await plane.ask('POST /endpoints', { json: {} })).status).toBe(422);
    expect((await plane.ask('DELETE /tenants/other', { as: 'acme' })).status).toBe(403);
  });
});

/** PostgreSQL has no file that could be read only, or locked as a whole. */
const describeFile = onPostgres ? () => {} : describe;

describeFile('a file of SQLite', () => {
  async function openFile() {
    const file = await newPlace();
    const database = new Database(file, { timeout: 1 });
    onCleanUp('test', 'folder', async () => void database.close());
    const plane = await openPlane({ file, store: sqliteStore({ database }) });
    const tenant = await plantTenant(plane, 'acme', 'mark');
    return { file, database, plane, ask: (operation: string) => askAs(plane, tenant, operation) };
  }

  test('§7 that is read only: what writes is 503, what reads is answered', async () => {
    const { database, plane, ask } = await openFile();
    database.pragma('query_only = 1');
    expectFailure(await ask('endpoints.create'), plane, 503, 'STORE_UNAVAILABLE');
    expectFailure(await ask('tenants.delete'), plane, 503, 'STORE_UNAVAILABLE');
    expect((await ask('endpoints.get')).status).toBe(200);
    database.pragma('query_only = 0');
    expect((await ask('endpoints.create')).status).toBe(201);
  });

  test('§7 that another process has locked: what writes is 503, what reads is answered', async () => {
    const { file, plane, ask } = await openFile();
    const other = new Database(file);
    other.exec('begin immediate');
    expectFailure(await ask('endpoints.disable'), plane, 503, 'STORE_UNAVAILABLE');
    expect((await ask('messages.get')).status).toBe(200);
    other.exec('rollback');
    other.close();
    expect((await ask('endpoints.disable')).status).toBe(200);
  });
});

describe('a schema that this version does not know', () => {
  async function openWith(change: string, migrate: boolean) {
    const { sender: before } = await openPlane();
    await alterAt(before.file, change);
    const store = await storeAt(before.file, { migrate });
    const sender = await startSender({ store, started: false });
    const faults: Plane['faults'] = [];
    const handler = createAdminHandler(sender, {
      authorize: () => true,
      onError: (error, { requestId }) => void faults.push({ error, requestId }),
    });
    return { faults, ask: (route: string) => answerOf(handler(requestOf(route))) };
  }
  const newer = "insert into hookplane_schema_migrations values (999, 'later', 1)";
  const older = 'delete from hookplane_schema_migrations';

  it.each([
    ['newer', newer, true],
    ['newer', newer, false],
    ['older', older, false],
  ])('§7 %s is 503 MIGRATION_REQUIRED', async (_name, change, migrate) => {
    const plane = await openWith(change, migrate);
    for (const route of [
      'GET /endpoints',
      'GET /messages/x',
      'DELETE /tenants/x',
      'POST /endpoints/x/enable',
    ]) {
      expectFailure(await plane.ask(route), plane, 503, 'MIGRATION_REQUIRED');
    }
    expectAnswer(await plane.ask('GET /health'), 503, {
      ok: false,
      outboxDepth: null,
      oldestPendingAge: null,
      workerCount: null,
      reason: 'migration_required',
    });
  });
});

describe('an error that nobody expected', () => {
  it('§7 is 500 INTERNAL, with the id that onError was given, and nothing else', async () => {
    const plane = await openPlane();
    await alterAt(plane.sender.file, 'drop table hookplane_endpoints');
    const answers = [await plane.ask('GET /endpoints'), await plane.ask('GET /endpoints/x')];
    for (const [index, answer] of answers.entries()) {
      expectFailure(answer, plane, 500, 'INTERNAL');
      expect(answer.body.error).toBe('Internal error');
      expect(plane.faults[index]).toEqual({
        error: expect.objectContaining({ message: expect.stringMatching(/no such table|does not exist/) }),
        requestId: answer.body.requestId,
      });
    }
    expect(answers[0]!.body.requestId).not.toBe(answers[1]!.body.requestId);
  });

  it.each([
    ['null', null],
    ['undefined', undefined],
    ['a string', 'secret text'],
    ['an error with a secret', new Error('password is hunter2')],
    [
      'an error with a code of ours',
      Object.assign(new Error('secret'), { code: 'INVALID_QUERY', status: 400 }),
    ],
    ['a configuration error', new HookplaneError('INVALID_OPTIONS', 'secret')],
    ['a code that is none', new HookplaneError('__proto__' as ErrorCode, 'secret')],
    ['a code of every object', new HookplaneError('constructor' as ErrorCode, 'secret')],
    [
      'an error whose message throws',
      Object.defineProperty(new Error(), 'message', {
        get: () => {
          throw 1;
        },
      }),
    ],
    ['a response', new Response('secret', { status: 200 })],
  ])('§7 is 500 INTERNAL whatever it is: %s', async (_name, thrown) => {
    const sender = { health: () => Promise.reject(thrown) } as unknown as Sender;
    const faults: Plane['faults'] = [];
    const onError = (error: unknown, { requestId }: { requestId: string }) =>
      void faults.push({ error, requestId });
    const handler = createAdminHandler(sender, { authorize: () => true, onError });
    const answer = await answerOf(handler(requestOf('GET /health')));
    expectFailure(answer, { faults }, 500, 'INTERNAL');
    expect(answer.body.error).toBe('Internal error');
    expect(faults.map(({ error }) => Object.is(error, thrown))).toEqual([true]);
  });

  it('§7 is known by its code, also when another copy of this package made it', async () => {
    const error = Object.assign(new Error('There is none'), {
      name: 'HookplaneError',
      code: 'MESSAGE_NOT_FOUND',
    });
    expect(errorAnswer(error, () => 'req_1').status).toBe(404);
  });
});

it('every answer has the headers of this control plane', async () => {
  const plane = await openPlane();
  const { endpointId } = await plantTenant(plane, 'acme', 'mark');
  const big = { body: 'x'.repeat(300_000) };
  const text = { body: '{}', headers: { 'content-type': 'text/plain' } };
  for (const [route, asked, status] of [
    ['GET /endpoints', {}, 200],
    ['HEAD /endpoints', {}, 200],
    ['POST /endpoints', { json: { url: 'https://example.com/' } }, 201],
    ['POST /keys/symmetric', {}, 201],
    ['GET /endpoints?limit=x', {}, 400],
    ['POST /endpoints', { body: '{' }, 400],
    ['DELETE /tenants/acme', { as: 'other' }, 403],
    ['GET /nowhere', {}, 404],
    ['PUT /endpoints', {}, 405],
    ['POST /endpoints', big, 413],
    ['POST /endpoints', text, 415],
    ['POST /endpoints', { json: {} }, 422],
    ['GET /health', {}, 503],
    [`DELETE /endpoints/${endpointId}`, {}, 204],
  ] as const) {
    const answer = await plane.ask(route, asked);
    expect(answer.status).toBe(status);
    expectOwnHeaders(answer);
    expect(answer.headers.has('etag')).toBe(false);
    expect(answer.headers.has('set-cookie')).toBe(false);
  }
});
