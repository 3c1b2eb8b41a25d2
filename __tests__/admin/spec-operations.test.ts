import { createPrivateKey, createPublicKey, sign, verify } from 'node:crypto';
import { expectAnswer, expectError, expectIssues, expectOwnHeaders } from './expectations.js';
import { plantDeliveries, plantTenant } from './planted.js';
import { dump, openPlane, type Plane } from './plane.js';
import { aTenant } from './records.js';

const URL = 'https://example.com/hook';
const SINCE = '2026-01-01';

let plane: Plane;
let endpointId: string;
beforeEach(async () => {
  plane = await openPlane();
  endpointId = (await plane.sender.endpoints.create({ url: URL, tenantId: 'acme' })).id;
});

async function send(count: number, fields: { type?: string; data?: unknown } = {}): Promise<string[]> {
  const ids: string[] = [];
  for (let n = 0; n < count; n += 1) {
    ids.push((await plane.sender.send({ type: 'a', data: n, tenantId: 'acme', ...fields })).id);
    plane.clock.advance(1);
  }
  return ids;
}

const triggers = () =>
  plane.query(
    'select message_id, status, "trigger", webhook_id from hookplane_deliveries order by message_id',
  );

describe('§4 POST /replay', () => {
  it('§4 POST /replay makes a finished message pending again', async () => {
    const [messageId] = await send(1);
    await plantDeliveries(plane, messageId!, 'failed');
    expectAnswer(await plane.ask('POST /replay', { json: { messageId } }), 200, {
      replayed: 1,
      nextCursor: null,
    });
    expect(await triggers()).toEqual([
      { message_id: messageId, status: 'pending', trigger: 'replay', webhook_id: null },
    ]);
    expect((await plane.ask(`GET /messages/${messageId}`)).body.status).toBe('pending');
  });

  it('§4 POST /replay replays a message to the named endpoint alone', async () => {
    const second = await plane.sender.endpoints.create({ url: URL, tenantId: 'acme' });
    const [messageId] = await send(1);
    const { body } = await plane.ask('POST /replay', { json: { messageId, endpointId: second.id } });
    expect(body.replayed).toBe(1);
    const replayed = `select endpoint_id from hookplane_deliveries where "trigger" = 'replay'`;
    expect(await plane.query(replayed)).toEqual([{ endpoint_id: second.id }]);
    expect((await plane.ask('POST /replay', { json: { messageId } })).body.replayed).toBe(2);
  });

  it('§4 POST /replay takes limit and cursor: a page a call, oldest first', async () => {
    const ids = await send(3);
    const json = { endpointId, since: SINCE, limit: 2 };
    const first = await plane.ask('POST /replay', { json });
    expectAnswer(first, 200, { replayed: 2, nextCursor: expect.any(String) });
    expect((await triggers()).map((row) => row.trigger)).toEqual(['replay', 'replay', 'send']);
    const last = await plane.ask('POST /replay', { json: { ...json, cursor: first.body.nextCursor } });
    expectAnswer(last, 200, { replayed: 1, nextCursor: null });
    expect((await triggers()).map((row) => row.message_id)).toEqual(ids);
  });

  it('§4 POST /replay narrows a range by until, types and status', async () => {
    const [first] = await send(1, { type: 'order.paid' });
    const until = new Date(plane.clock.now()).toISOString();
    const [second] = await send(1, { type: 'order.sent' });
    await plantDeliveries(plane, second!, 'failed');
    const count = async (fields: object) =>
      (await plane.ask('POST /replay', { json: { endpointId, since: SINCE, dryRun: true, ...fields } })).body
        .replayed;
    expect(await count({})).toBe(2);
    expect(await count({ until })).toBe(1);
    expect(await count({ types: ['order.paid', 'x.*'] })).toBe(1);
    expect(await count({ types: ['order.*'] })).toBe(2);
    expect(await count({ status: 'failed' })).toBe(1);
    expect(await count({ status: 'failed', until })).toBe(0);
    expect(first).not.toBe(second);
  });

  it('§4 POST /replay with dryRun counts and changes nothing', async () => {
    const [messageId] = await send(2);
    const before = await dump(plane);
    for (const json of [{ messageId }, { endpointId, since: SINCE }]) {
      const answer = await plane.ask('POST /replay', { json: { ...json, dryRun: true } });
      expect(answer.body).toEqual({ replayed: 'messageId' in json ? 1 : 2, nextCursor: null });
    }
    expect(await dump(plane)).toEqual(before);
  });

  it('§4 POST /replay keeps the webhook id unless freshId asks for another', async () => {
    const [messageId] = await send(1);
    await plane.ask('POST /replay', { json: { messageId } });
    expect((await triggers())[0]!.webhook_id).toBeNull();
    await plane.ask('POST /replay', { json: { messageId, freshId: true } });
    expect((await triggers())[0]!.webhook_id).toMatch(/^msg_[0-9a-z]{26,32}$/);
    expect((await triggers())[0]!.webhook_id).not.toBe(messageId);
  });

  it('§4 POST /replay serves an endpoint that came after the messages', async () => {
    await send(2);
    const later = await plane.sender.endpoints.create({ url: URL, tenantId: 'acme' });
    const answer = await plane.ask('POST /replay', { json: { endpointId: later.id, since: SINCE } });
    expect(answer.body.replayed).toBe(2);
  });

  it('§4 POST /replay does not find an unknown message or endpoint', async () => {
    const [messageId] = await send(1);
    for (const [json, code] of [
      [{ messageId: 'msg_none' }, 'MESSAGE_NOT_FOUND'],
      [{ messageId, endpointId: 'ep_none' }, 'ENDPOINT_NOT_FOUND'],
      [{ endpointId: 'ep_none', since: SINCE }, 'ENDPOINT_NOT_FOUND'],
    ] as const) {
      expectError(await plane.ask('POST /replay', { json }), code);
    }
  });

  it('§4 POST /replay names what is wrong', async () => {
    const [messageId] = await send(1);
    for (const [json, fields] of [
      [{}, ['']],
      [{ since: SINCE }, ['']],
      [{ endpointId }, ['since']],
      [{ messageId, since: SINCE }, ['since']],
      [{ endpointId, since: 'yesterday' }, ['since']],
      [{ endpointId, since: '2026-01-02', until: '2026-01-01' }, ['since']],
      [{ endpointId, since: SINCE, types: ['a.*.b'] }, ['types.0']],
      [{ endpointId, since: SINCE, status: 'dead' }, ['status']],
    ] as const) {
      expectIssues(await plane.ask('POST /replay', { json }), 'REPLAY_VALIDATION', [...fields]);
    }
  });
});

describe('§4 POST /reconcile', () => {
  it('§4 POST /reconcile answers the ids of what was never delivered, oldest first', async () => {
    const [failed, delivered, pending] = await send(3);
    await plantDeliveries(plane, failed!, 'failed');
    await plantDeliveries(plane, delivered!, 'delivered');
    const before = await dump(plane);
    const answer = await plane.ask('POST /reconcile', { json: { endpointId, since: SINCE } });
    expectAnswer(answer, 200, { messageIds: [failed, pending], nextCursor: null });
    expect(await dump(plane)).toEqual(before);
  });

  it('§4 POST /reconcile takes limit and cursor, and until', async () => {
    const ids = await send(3);
    const until = new Date(plane.clock.now() - 1).toISOString();
    const json = { endpointId, since: SINCE, until, limit: 1 };
    const first = await plane.ask('POST /reconcile', { json });
    expect(first.body).toEqual({ messageIds: [ids[0]], nextCursor: expect.any(String) });
    const last = await plane.ask('POST /reconcile', { json: { ...json, cursor: first.body.nextCursor } });
    expect(last.body).toEqual({ messageIds: [ids[1]], nextCursor: null });
  });

  it('§4 POST /reconcile serves a paused endpoint, and messages without a delivery row', async () => {
    const ids = await send(1);
    const later = await plane.sender.endpoints.create({ url: URL, tenantId: 'acme' });
    await plane.sender.endpoints.disable(later.id);
    const answer = await plane.ask('POST /reconcile', { json: { endpointId: later.id, since: SINCE } });
    expect(answer.body.messageIds).toEqual(ids);
  });

  it('§4 POST /reconcile names what is wrong', async () => {
    for (const [json, fields] of [
      [{}, ['endpointId', 'since']],
      [{ endpointId, since: '2026-02-30' }, ['since']],
      [{ endpointId, since: '2026-01-02', until: '2026-01-01' }, ['since']],
      [{ endpointId, since: SINCE, dryRun: true }, ['dryRun']],
    ] as const) {
      expectIssues(await plane.ask('POST /reconcile', { json }), 'REPLAY_VALIDATION', [...fields]);
    }
    const missing = await plane.ask('POST /reconcile', { json: { endpointId: 'ep_none', since: SINCE } });
    expectError(missing, 'ENDPOINT_NOT_FOUND');
  });
});

describe('§4 POST /tenants/:id/rate-limit', () => {
  it('§4 POST /tenants/:id/rate-limit sets the limit of a tenant, and makes the tenant', async () => {
    const json = { perSecond: 0.5, burst: 20 };
    const record = aTenant('new one', { rateLimit: json });
    expectAnswer(await plane.ask('POST /tenants/new%20one/rate-limit', { json }), 200, record);
    expectAnswer(await plane.ask('GET /tenants/new%20one'), 200, record);
  });

  it('§4 POST /tenants/:id/rate-limit clears it by null', async () => {
    await plane.ask('POST /tenants/acme/rate-limit', { json: { perSecond: 2.5 } });
    expect((await plane.ask('GET /tenants/acme')).body.rateLimit).toEqual({ perSecond: 2.5, burst: 3 });
    const answer = await plane.ask('POST /tenants/acme/rate-limit', { json: { perSecond: null } });
    expectAnswer(answer, 200, aTenant('acme'));
  });

  it.each([
    [{ perSecond: 0 }, 'perSecond'],
    [{ perSecond: -1 }, 'perSecond'],
    [{ perSecond: '5' }, 'perSecond'],
    [{}, 'perSecond'],
    [{ perSecond: 1, burst: 0 }, 'burst'],
    [{ perSecond: 1, burst: 1.5 }, 'burst'],
    [{ perSecond: null, burst: 1 }, 'burst'],
    [{ perSecond: 1, perMinute: 60 }, 'perMinute'],
  ])('§4 POST /tenants/:id/rate-limit refuses %j', async (json, field) => {
    const before = await dump(plane);
    expectIssues(await plane.ask('POST /tenants/acme/rate-limit', { json }), 'TENANT_VALIDATION', [field]);
    expect(await dump(plane)).toEqual(before);
  });

  it('§4 POST /tenants/:id/rate-limit takes a finite number alone', async () => {
    const answer = await plane.ask('POST /tenants/acme/rate-limit', { body: '{"perSecond":1e400}' });
    expectIssues(answer, 'TENANT_VALIDATION', ['perSecond']);
  });
});

describe('§4 DELETE /tenants/:id', () => {
  it('§4 DELETE /tenants/:id removes the tenant with all that it has, and nothing else', async () => {
    const before = await dump(plane);
    const { endpointId: gone, messageId } = await plantTenant(plane, 'gone', 'mark');
    const answer = await plane.ask('DELETE /tenants/gone');
    expect(answer).toMatchObject({ status: 204, text: '' });
    expectOwnHeaders(answer);
    const records: unknown[] = ['tenants.setMetadata', 'tenants.delete'].map((operation) =>
      expect.objectContaining({ operation, tenant_id: 'gone' }),
    );
    // What stays for an hour refuses sends that had begun before, and does not name the tenant.
    const { hookplane_deleted_tenants: remembered, ...rest } = await dump(plane);
    const { hookplane_deleted_tenants: none, ...expected } = before;
    expect(rest).toEqual({ ...expected, hookplane_audit_log: records });
    expect(none).toEqual([]);
    expect(remembered).toMatchObject([{ tenant_id: null }]);
    expect(JSON.stringify(remembered)).not.toContain('gone');
    expectError(await plane.ask(`GET /endpoints/${gone}`), 'ENDPOINT_NOT_FOUND');
    expectError(await plane.ask(`GET /messages/${messageId}`), 'MESSAGE_NOT_FOUND');
    expectError(await plane.ask('DELETE /tenants/gone'), 'TENANT_NOT_FOUND');
  });
});

describe('§4 GET /tenants', () => {
  it('§4 GET /tenants answers { tenants, nextCursor }, newest first, by limit and cursor', async () => {
    plane.clock.advance(1);
    await plane.sender.tenants.setRateLimit('newer', { perSecond: 1 });
    const at = '2026-01-15T12:00:00.001Z';
    const newer = aTenant('newer', {
      rateLimit: { perSecond: 1, burst: 1 },
      createdAt: at,
      updatedAt: at,
    });
    const tenants = [newer, aTenant('acme')];
    expectAnswer(await plane.ask('GET /tenants'), 200, { tenants, nextCursor: null });
    const first = await plane.ask('GET /tenants?limit=1');
    expectAnswer(first, 200, { tenants: [newer], nextCursor: expect.any(String) });
    const last = await plane.ask(`GET /tenants?limit=1&cursor=${first.body.nextCursor}`);
    expectAnswer(last, 200, { tenants: [aTenant('acme')], nextCursor: null });
  });
});

describe('§4 GET /tenants/:id', () => {
  it('§4 GET /tenants/:id answers one tenant with its decoded rateLimit', async () => {
    await plane.sender.tenants.setRateLimit('acme', { perSecond: 9 });
    await plane.sender.tenants.setMetadata('acme', { plan: 'gold' });
    const record = aTenant('acme', { rateLimit: { perSecond: 9, burst: 9 }, metadata: { plan: 'gold' } });
    expectAnswer(await plane.ask('GET /tenants/acme'), 200, record);
  });
});

describe('§4 POST /keys', () => {
  it('§4 POST /keys/symmetric generates a symmetric signing key', async () => {
    const answer = await plane.ask('POST /keys/symmetric');
    expectAnswer(answer, 201, { secret: expect.stringMatching(/^whsec_[A-Za-z0-9+/]{43}=$/) });
    expect((await plane.ask('POST /keys/symmetric', { json: {} })).body.secret).not.toBe(answer.body.secret);
  });

  it('§4 POST /keys/asymmetric generates a signing key and the key that verifies', async () => {
    const answer = await plane.ask('POST /keys/asymmetric');
    expectAnswer(answer, 201, {
      privateKey: expect.stringMatching(/^whsk_/),
      publicKey: expect.stringMatching(/^whpk_/),
    });
    const bytes = (key: unknown) => Buffer.from(String(key).slice(5), 'base64');
    const der = Buffer.concat([
      Buffer.from('302e020100300506032b657004220420', 'hex'),
      bytes(answer.body.privateKey).subarray(0, 32),
    ]);
    const privateKey = createPrivateKey({ key: der, format: 'der', type: 'pkcs8' });
    const jwk = { kty: 'OKP', crv: 'Ed25519', x: bytes(answer.body.publicKey).toString('base64url') };
    const publicKey = createPublicKey({ key: jwk, format: 'jwk' });
    const text = Buffer.from('signed');
    expect(verify(null, text, publicKey, sign(null, text, privateKey))).toBe(true);
  });

  it('§4 POST /keys/asymmetric makes keys that an endpoint takes', async () => {
    const { privateKey } = (await plane.ask('POST /keys/asymmetric')).body;
    const answer = await plane.ask('POST /endpoints', { json: { url: URL, secret: privateKey } });
    expect(answer).toMatchObject({ status: 201, body: { secret: privateKey } });
  });
});
