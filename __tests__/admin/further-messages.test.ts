import { expectAnswer, expectError, expectIssues, expectOwnHeaders } from './expectations.js';
import { plantAttempt, plantTenant } from './planted.js';
import { dump, openPlane, type Plane, START_ISO } from './plane.js';
import { aMessage } from './records.js';

const URL = 'https://example.com/hook';
const MESSAGE = { type: 'invoice.paid', data: { id: 'inv_1' } };

let plane: Plane;
beforeEach(async () => {
  plane = await openPlane();
});

describe('POST /messages', () => {
  const send = (json: object = MESSAGE, key?: string, as?: string) =>
    plane.ask('POST /messages', {
      json,
      ...(key !== undefined && { headers: { 'idempotency-key': key } }),
      ...(as !== undefined && { as }),
    });

  it('answers the stored message and where it is, and owes it to those who want it', async () => {
    const endpoint = await plane.sender.endpoints.create({ url: URL });
    const answer = await send();
    expectAnswer(answer, 201, aMessage({ status: 'pending', duplicate: false }));
    expect(answer.headers.get('location')).toBe(`messages/${answer.body.id}`);
    const { duplicate: _, ...record } = answer.body;
    expectAnswer(await plane.ask(`GET /${answer.headers.get('location')}`), 200, {
      ...record,
      payload: { ...MESSAGE, timestamp: START_ISO },
      deliveries: [expect.objectContaining({ endpointId: endpoint.id, status: 'pending' })],
    });
  });

  it('takes every field of a send', async () => {
    const fields = { tenantId: 'acme', channels: ['eu'], idempotencyKey: 'k' };
    const answer = await send({ ...MESSAGE, ...fields, expiresAt: '2026-02-01T02:00:00+02:00' });
    expectAnswer(
      answer,
      201,
      aMessage({ ...fields, expiresAt: '2026-02-01T00:00:00.000Z', duplicate: false }),
    );
  });

  it.each(['the header', 'the body', 'both'])(
    'answers the first message to a second with the same key: in %s',
    async (where) => {
      const json = where === 'the header' ? MESSAGE : { ...MESSAGE, idempotencyKey: 'key 1' };
      const key = where === 'the body' ? undefined : 'key 1';
      const first = await send(json, key);
      expect(first).toMatchObject({ status: 201, body: { idempotencyKey: 'key 1', duplicate: false } });
      plane.clock.advance(1000);
      const second = await send(json, key);
      expectAnswer(second, 200, { ...first.body, duplicate: true });
      expect(second.headers.get('location')).toBe(`messages/${first.body.id}`);
    },
  );

  it('knows a key by itself, wherever it was given', async () => {
    const first = await send(MESSAGE, 'k');
    expect((await send({ ...MESSAGE, idempotencyKey: 'k' })).body.id).toBe(first.body.id);
    expect((await send({ ...MESSAGE, idempotencyKey: null }, 'k')).body.id).toBe(first.body.id);
  });

  it('refuses a key that was used for something else', async () => {
    await send(MESSAGE, 'k');
    const before = await dump(plane);
    for (const other of [
      { ...MESSAGE, data: 1 },
      { ...MESSAGE, type: 'a' },
    ]) {
      expectError(await send(other, 'k'), 'IDEMPOTENCY_CONFLICT');
      expectError(await send({ ...other, idempotencyKey: 'k' }), 'IDEMPOTENCY_CONFLICT');
    }
    expect(await dump(plane)).toEqual(before);
  });

  it('refuses two keys that differ, and one that is none', async () => {
    const before = await dump(plane);
    for (const [inBody, inHeader] of [
      ['a', 'b'],
      ['a', ''],
      ['', 'a'],
      [7, '7'],
      [undefined, ''],
      [undefined, 'x'.repeat(256)],
      [undefined, 'a\tb'],
      ['x'.repeat(256), 'x'.repeat(256)],
    ] as const) {
      const json = inBody === undefined ? MESSAGE : { ...MESSAGE, idempotencyKey: inBody };
      expectIssues(await send(json, inHeader), 'MESSAGE_VALIDATION', ['idempotencyKey']);
    }
    expect(await dump(plane)).toEqual(before);
  });

  it('keeps the keys of tenants apart', async () => {
    const ids = new Set<string>();
    for (const as of [undefined, 'acme', 'other']) {
      const answer = await send(MESSAGE, 'k', as);
      expect(answer.status).toBe(201);
      ids.add(answer.body.id);
    }
    expect(ids.size).toBe(3);
  });

  it('is for the tenant of a bound caller, who may name it and no other', async () => {
    expect((await send(MESSAGE, undefined, 'acme')).body).toMatchObject({ tenantId: 'acme' });
    const named = await send({ ...MESSAGE, tenantId: 'acme' }, undefined, 'acme');
    expect(named).toMatchObject({ status: 201, body: { tenantId: 'acme' } });
    for (const tenantId of ['other', null, 'ACME']) {
      const answer = await send({ ...MESSAGE, tenantId }, undefined, 'acme');
      expectIssues(answer, 'MESSAGE_VALIDATION', ['tenantId']);
    }
  });

  it('names every field that is wrong, and stores nothing', async () => {
    const before = await dump(plane);
    const answer = await send({ type: 'no type', channels: [], colour: 'red', id: 'msg_1' });
    expectIssues(answer, 'MESSAGE_VALIDATION', ['type', 'data', 'channels', 'colour', 'id']);
    expect(await dump(plane)).toEqual(before);
  });

  it('says under which prefix it is mounted', async () => {
    const mounted = await openPlane({ admin: { authorize: () => true, basePath: '/hooks' } });
    const answer = await mounted.ask('POST /hooks/messages', { json: MESSAGE });
    expect(answer.headers.get('location')).toBe(`/hooks/messages/${answer.body.id}`);
  });

  it('no other route looks at an Idempotency-Key', async () => {
    const headers = { 'idempotency-key': 'k' };
    const make = () => plane.ask('POST /endpoints', { json: { url: URL }, headers });
    expect((await make()).body.id).not.toBe((await make()).body.id);
  });
});

describe('DELETE /messages/:id/payload', () => {
  it('answers 204 without a body; the message is read without its payload from then on', async () => {
    const { messageId, endpointId } = await plantTenant(plane, 'acme', 'mark');
    const before = (await plane.ask(`GET /messages/${messageId}`)).body;
    const answer = await plane.ask(`DELETE /messages/${messageId}/payload`);
    expect(answer).toMatchObject({ status: 204, text: '' });
    expectOwnHeaders(answer);
    expectAnswer(await plane.ask(`GET /messages/${messageId}`), 200, {
      ...before,
      status: 'unrouted',
      payload: null,
      deliveries: [
        {
          endpointId,
          status: 'canceled',
          attemptCount: 2,
          nextAttemptAt: null,
          lastError: 'The payload of the message was expunged',
        },
      ],
    });
    const { attempts } = (await plane.ask(`GET /messages/${messageId}/attempts`)).body;
    expect(attempts).toMatchObject([
      { number: 1, responseStatus: 500, responseBody: null },
      { number: 2, responseStatus: 500, responseBody: null },
    ]);
  });

  it('leaves nothing of it in the store', async () => {
    const canary = 'CANARY-7d2f';
    const { id: endpointId } = await plane.sender.endpoints.create({ url: URL });
    const { id: messageId } = await plane.sender.send({ type: 'a', data: canary });
    await plantAttempt(plane, { messageId, endpointId });
    await plane.query('update hookplane_attempts set response_body = ?', `you said ${canary} to us`);
    expect(JSON.stringify(await dump(plane))).toContain(canary);
    await plane.ask(`DELETE /messages/${messageId}/payload`);
    expect(JSON.stringify(await dump(plane))).not.toContain(canary);
  });

  it('answers the same again', async () => {
    const { messageId } = await plantTenant(plane, 'acme', 'mark');
    await plane.ask(`DELETE /messages/${messageId}/payload`);
    const before = await dump(plane);
    expect((await plane.ask(`DELETE /messages/${messageId}/payload`)).status).toBe(204);
    expect(await dump(plane)).toEqual(before);
  });

  it('leaves nothing to replay or to reconcile', async () => {
    const { messageId, endpointId } = await plantTenant(plane, 'acme', 'mark');
    await plane.ask(`DELETE /messages/${messageId}/payload`);
    for (const json of [{ messageId }, { messageId, endpointId }, { messageId, dryRun: true }]) {
      expectIssues(await plane.ask('POST /replay', { json }), 'REPLAY_VALIDATION', ['messageId']);
    }
    const json = { endpointId, since: '2026-01-01' };
    expect((await plane.ask('POST /replay', { json })).body).toEqual({ replayed: 0, nextCursor: null });
    expect((await plane.ask('POST /reconcile', { json })).body).toEqual({ messageIds: [], nextCursor: null });
  });

  it('is still listed', async () => {
    const { messageId } = await plantTenant(plane, 'acme', 'mark');
    await plane.ask(`DELETE /messages/${messageId}/payload`);
    expect((await plane.ask('GET /messages')).body.messages).toMatchObject([{ id: messageId }]);
  });
});
