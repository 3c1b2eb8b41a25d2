import { expectAnswer, expectError, expectIssues, expectOwnHeaders } from './expectations.js';
import { plantTenant, plantWorker, type PlantedTenant } from './planted.js';
import { type Answer, dump, openPlane, type Plane } from './plane.js';
import { MORE_REQUESTS, OPERATIONS, REQUESTS, type Target } from './route-cases.js';

const OWNER = 'owner';
const STRANGER = 'stranger';

type Check = (answer: Answer) => void;

/** What each caller is answered when it asks for what the owner has. */
interface Expected {
  unbound: Check;
  owner: Check;
  stranger: Check;
}

const ok =
  (status: number, body: unknown): Check =>
  (answer) =>
    expectAnswer(answer, status, body);
const empty: Check = (answer) => {
  expect(answer).toMatchObject({ status: 204, text: '' });
  expectOwnHeaders(answer);
};
const error =
  (code: Parameters<typeof expectError>[1]): Check =>
  (answer) =>
    expectError(answer, code);

const seen = (check: Check, stranger: Check): Expected => ({ unbound: check, owner: check, stranger });
const anyone = (check: Check): Expected => seen(check, check);
const endpoint = (mine: PlantedTenant, fields: object = {}) =>
  expect.objectContaining({ id: mine.endpointId, tenantId: mine.tenantId, ...fields }) as unknown;
const rows = (plural: string, owner: unknown, stranger: unknown): Expected => {
  const page = (...found: unknown[]) => ok(200, { [plural]: found, nextCursor: null });
  return { unbound: page(stranger, owner), owner: page(owner), stranger: page(stranger) };
};
const health = (outboxDepth: number) =>
  ok(200, { ok: true, outboxDepth, oldestPendingAge: expect.any(Number), workerCount: 1 });

const depthIn =
  (outboxDepth: number): Check =>
  ({ status, text }) => {
    expect(status).toBe(200);
    expect(text).toContain(`\nhookplane_outbox_depth ${outboxDepth}\n`);
  };

/** An interval with so many attempts that have failed: each tenant has two. */
const bucketOf = (failed: number): unknown =>
  expect.objectContaining({ succeeded: 0, failed, p50DurationMs: 12 });
const statsWith = (failed: number) =>
  ok(200, expect.objectContaining({ buckets: expect.arrayContaining([bucketOf(failed)]) }));

/** One row for each route of the control plane: a new route must say here who may see what of it. */
const EXPECTED: Record<string, (owner: PlantedTenant, stranger: PlantedTenant) => Expected> = {
  'endpoints.list': (owner, stranger) => rows('endpoints', endpoint(owner), endpoint(stranger)),
  'endpoints.create': () => {
    const made = { tenantId: OWNER, secret: expect.stringMatching(/^whsec_/) };
    return seen(ok(201, expect.objectContaining(made)), (answer) =>
      expectIssues(answer, 'ENDPOINT_VALIDATION', ['tenantId']),
    );
  },
  'endpoints.get': (owner) => seen(ok(200, endpoint(owner)), error('ENDPOINT_NOT_FOUND')),
  'endpoints.update': (owner) =>
    seen(ok(200, endpoint(owner, { description: 'changed' })), error('ENDPOINT_NOT_FOUND')),
  'endpoints.delete': () => seen(empty, error('ENDPOINT_NOT_FOUND')),
  'endpoints.disable': (owner) =>
    seen(ok(200, endpoint(owner, { status: 'paused' })), error('ENDPOINT_NOT_FOUND')),
  'endpoints.enable': (owner) =>
    seen(ok(200, endpoint(owner, { status: 'active' })), error('ENDPOINT_NOT_FOUND')),
  'endpoints.rotateSecret': (owner) =>
    seen(ok(200, endpoint(owner, { secret: expect.any(String) })), error('ENDPOINT_NOT_FOUND')),
  replay: () => seen(ok(200, { replayed: 1, nextCursor: null }), error('MESSAGE_NOT_FOUND')),
  reconcile: (owner) =>
    seen(ok(200, { messageIds: [owner.messageId], nextCursor: null }), error('ENDPOINT_NOT_FOUND')),
  'tenants.setRateLimit': () =>
    seen(
      ok(200, expect.objectContaining({ id: OWNER, rateLimit: { perSecond: 50, burst: 50 } })),
      error('FORBIDDEN'),
    ),
  'tenants.delete': () => seen(empty, error('FORBIDDEN')),
  'tenants.list': () =>
    rows('tenants', expect.objectContaining({ id: OWNER }), expect.objectContaining({ id: STRANGER })),
  'tenants.get': () => seen(ok(200, expect.objectContaining({ id: OWNER })), error('TENANT_NOT_FOUND')),
  'keys.generateSymmetric': () => anyone(ok(201, { secret: expect.any(String) })),
  'keys.generateAsymmetric': () =>
    anyone(ok(201, { privateKey: expect.any(String), publicKey: expect.any(String) })),
  'messages.list': (owner, stranger) => {
    const message = ({ messageId, tenantId }: PlantedTenant) =>
      expect.objectContaining({ id: messageId, tenantId }) as unknown;
    return rows('messages', message(owner), message(stranger));
  },
  'messages.get': (owner) =>
    seen(ok(200, expect.objectContaining({ id: owner.messageId })), error('MESSAGE_NOT_FOUND')),
  'messages.attempts': (owner) =>
    seen(
      ok(200, {
        attempts: owner.attemptIds.map((id) => expect.objectContaining({ id })),
        nextCursor: null,
      }),
      error('MESSAGE_NOT_FOUND'),
    ),
  health: () => ({ unbound: health(2), owner: health(1), stranger: health(1) }),
  'endpoints.attempts': (owner) =>
    seen(
      ok(200, {
        attempts: [...owner.attemptIds].reverse().map((id) => expect.objectContaining({ id })),
        nextCursor: null,
      }),
      error('ENDPOINT_NOT_FOUND'),
    ),
  'endpoints.stats': () => seen(statsWith(2), error('ENDPOINT_NOT_FOUND')),
  'endpoints.secret': (owner) =>
    seen(ok(200, { secret: owner.secret, previousSecrets: [] }), error('ENDPOINT_NOT_FOUND')),
  'endpoints.test': (owner) =>
    seen(
      ok(200, expect.objectContaining({ endpointId: owner.endpointId, trigger: 'test' })),
      error('ENDPOINT_NOT_FOUND'),
    ),
  send: () =>
    seen(ok(201, expect.objectContaining({ tenantId: OWNER, duplicate: false })), (answer) =>
      expectIssues(answer, 'MESSAGE_VALIDATION', ['tenantId']),
    ),
  'messages.expungePayload': () => seen(empty, error('MESSAGE_NOT_FOUND')),
  'metrics.get': () => ({ unbound: depthIn(2), owner: depthIn(1), stranger: depthIn(1) }),
  'audit.list': (owner, stranger) => {
    const entry = ({ tenantId }: PlantedTenant, mark: string) =>
      expect.objectContaining({ tenantId, targetId: tenantId, actor: { id: mark, name: mark } }) as unknown;
    return rows('entries', entry(owner, 'owner-mark'), entry(stranger, 'stranger-mark'));
  },
  stats: () => ({ unbound: statsWith(4), owner: statsWith(2), stranger: statsWith(2) }),
  caller: () => {
    const of = (tenantId: string | null) => ok(200, { tenantId, readOnly: false, actor: null });
    return { unbound: of(null), owner: of(OWNER), stranger: of(STRANGER) };
  },
  'openapi.get': () => anyone(ok(200, expect.objectContaining({ openapi: '3.1.0' }))),
};

let plane: Plane;
let owner: PlantedTenant;
let stranger: PlantedTenant;
beforeEach(async () => {
  plane = await openPlane();
  await plantWorker(plane);
  owner = await plantTenant(plane, OWNER, 'owner-mark');
  plane.clock.advance(1);
  stranger = await plantTenant(plane, STRANGER, 'stranger-mark');
});

const CALLERS = { unbound: undefined, owner: OWNER, stranger: STRANGER };
const asCaller = (as: string | undefined) => (as === undefined ? {} : { as });

it('says for every route of the control plane who may see what of it', () => {
  expect(Object.keys(EXPECTED).sort()).toEqual([...OPERATIONS].sort());
  expect(Object.keys(REQUESTS).sort()).toEqual([...OPERATIONS].sort());
});

describe.each(OPERATIONS)('§5.5 %s of what a tenant has', (operation) => {
  it.each(Object.keys(CALLERS) as (keyof Expected)[])('asked by %s', async (caller) => {
    const { route, json } = REQUESTS[operation]!(owner);
    const answer = await plane.ask(route, { json, ...asCaller(CALLERS[caller]) });
    EXPECTED[operation]!(owner, stranger)[caller](answer);
  });
});

/** Everything by which a request can name a tenant's things; keys and plain lists name nothing. */
const NAMING = Object.entries({ ...REQUESTS, ...MORE_REQUESTS }).filter(
  ([, request]) =>
    JSON.stringify(request({ tenantId: 'a', endpointId: 'b', messageId: 'c' })) !==
    JSON.stringify(request({ tenantId: 'd', endpointId: 'e', messageId: 'f' })),
);
const MISSING: Target = {
  tenantId: 'nobody',
  endpointId: `ep_${'0'.repeat(32)}`,
  messageId: `msg_${'0'.repeat(32)}`,
};

/** The whole answer with the ids of the question taken out. */
function withoutIds({ status, headers, text }: Answer, target: Target): unknown {
  const bare = [target.tenantId, target.endpointId, target.messageId].reduce(
    (rest, id) => rest.replaceAll(id, '<id>'),
    text,
  );
  return { status, headers: [...headers], text: bare };
}

describe("§5.5 what is another tenant's is answered as what does not exist", () => {
  it.each(NAMING)('%s', async (_name, request) => {
    const variants = [undefined, '', '{', '[]', '{"colour":1}', '{"limit":0}'];
    for (const body of [...variants, 'whole'] as const) {
      const ask = async (target: Target) => {
        const { route, json } = request(target);
        const sent = body === 'whole' ? { json } : body === undefined ? {} : { body };
        const asked = route.startsWith('GET') ? {} : sent;
        return withoutIds(await plane.ask(route, { as: STRANGER, ...asked }), target);
      };
      expect(await ask(owner)).toEqual(await ask(MISSING));
    }
  });

  it.each(NAMING)('%s, with nothing changed', async (_name, request) => {
    const before = await dump(plane);
    const { route, json } = request(owner);
    const answer = await plane.ask(route, { as: STRANGER, json });
    expect([200, 400, 403, 404, 422]).toContain(answer.status);
    expect(await dump(plane)).toEqual(before);
  });

  it.each(['PATCH /endpoints/:id', 'POST /endpoints/:id/rotate-secret'])(
    '%s, whatever is wrong with the fields',
    async (route) => {
      for (const id of [owner.endpointId, MISSING.endpointId]) {
        const asked = { as: STRANGER, json: { colour: 'red', secret: 1, url: 'x' } };
        expectError(await plane.ask(route.replace(':id', id), asked), 'ENDPOINT_NOT_FOUND');
      }
    },
  );

  it('a message of the caller is not replayed to the endpoint of another tenant', async () => {
    const before = await dump(plane);
    const mixed = (endpointId: string) =>
      plane.ask('POST /replay', { as: STRANGER, json: { messageId: stranger.messageId, endpointId } });
    const foreign = await mixed(owner.endpointId);
    expectError(foreign, 'ENDPOINT_NOT_FOUND');
    expect(withoutIds(foreign, owner)).toEqual(withoutIds(await mixed(MISSING.endpointId), MISSING));
    expect(await dump(plane)).toEqual(before);
  });

  it('nobody replays a message to the endpoint of another tenant', async () => {
    const before = await dump(plane);
    const json = { messageId: stranger.messageId, endpointId: owner.endpointId };
    expectIssues(await plane.ask('POST /replay', { json }), 'REPLAY_VALIDATION', ['endpointId']);
    expect(await dump(plane)).toEqual(before);
  });
});

describe('§5.5 403 across tenants', () => {
  const BODIES = [undefined, '', '{', '"text"', '{"perSecond":"x"}', '{"perSecond":1}'];
  const WRITES = ['tenants.setRateLimit', 'tenants.delete'];

  it.each(WRITES)('%s: whatever the body, whether or not the tenant exists', async (operation) => {
    const before = await dump(plane);
    const answers = new Set<string>();
    for (const tenantId of [OWNER, 'nobody', 'x'.repeat(300), 'Stranger', ' stranger', 'ö/ü?%']) {
      const { route } = REQUESTS[operation]!({ ...owner, tenantId });
      for (const body of BODIES) {
        for (const search of ['', '?colour=red']) {
          const given = body === undefined ? {} : { body };
          const answer = await plane.ask(`${route}${search}`, { as: STRANGER, ...given });
          expectError(answer, 'FORBIDDEN');
          answers.add(answer.text);
        }
      }
    }
    expect(answers.size).toBe(1);
    expect(await dump(plane)).toEqual(before);
  });

  it('nowhere else', async () => {
    for (const [name, request] of NAMING) {
      const { route, json } = request(owner);
      const { status } = await plane.ask(route, { as: STRANGER, json });
      expect([name, status === 403]).toEqual([name, WRITES.includes(name)]);
    }
  });
});
