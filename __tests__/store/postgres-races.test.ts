import { Pool, type PoolClient } from 'pg';
import { bucketTokens } from '../../lib/model/rate-limit.js';
import { postgresStore } from '../../lib/store/postgres.js';
import type { Lane, LeasedDelivery, NewMessage, Shares, Store } from '../../lib/store/store.js';
import {
  addEndpoint,
  addMessage,
  addMessages,
  each,
  finish,
  lease,
  newMessage,
  positionAt,
  settle,
  settlementOf,
  statusOf,
  T0,
} from '../contracts/store/fixtures.js';
import { onCleanUp } from '../support/clean-up.js';
import { createDatabase, type TestDatabase } from '../support/postgres/database.js';
import { eventually } from '../support/wait-for.js';

jest.setTimeout(60_000);

const ROUNDS = 12;

let database: TestDatabase;
let schemas = 0;
beforeAll(async () => {
  database = await createDatabase();
});

/** Stores of two processes, in effect: they share the database and nothing else. */
interface Two {
  schema: string;
  first: Store;
  second: Store;
  rows(table: string): Promise<Rows>;
}

async function openTwo(): Promise<Two> {
  const schema = `race_${++schemas}`;
  const open = async () => {
    const store = postgresStore({ connectionString: database.url, schema });
    onCleanUp('test', 'sender', () => store.close());
    await store.open();
    return store;
  };
  const [first, second] = await Promise.all([open(), open()]);
  const rows = async (table: string) => (await database.rows(schema))[`hookplane_${table}`]!;
  return { schema, first: first!, second: second!, rows };
}
type Rows = Record<string, unknown>[];

const keyOf = ({ messageId, endpointId }: LeasedDelivery) => `${messageId} ${endpointId}`;

/** As many as the limits of each lane still allow. */
function withinLimits(lanes: readonly Lane[]): Shares {
  const quotas = lanes.map((lane): [string, number] => {
    const rates = [
      lane.rateLimit && bucketTokens(lane.rateLimit, lane.rateUsed, T0 + 1000).tokens,
      lane.tenantRateLimit && bucketTokens(lane.tenantRateLimit, lane.tenantRateUsed, T0 + 1000).tokens,
      lane.maxInFlight === null ? null : lane.maxInFlight - lane.inFlight,
    ];
    return [lane.endpointId, Math.min(3, ...rates.flatMap((rate) => rate ?? []))];
  });
  return { quotas: new Map(quotas.filter(([, quota]) => quota > 0)), nextAt: null };
}

/** Leases from both sides at once, again and again, and answers all that was leased. */
async function leaseAtOnce(stores: readonly Store[], share: (lanes: readonly Lane[]) => Shares) {
  const all: LeasedDelivery[] = [];
  await Promise.all(
    stores.map(async (store, index) => {
      for (let round = 0; round < ROUNDS; round++) {
        all.push(...(await lease(store, { owner: `worker ${index}`, now: T0 + 1000, share })));
      }
    }),
  );
  return all;
}

test('leases of many lanes at the same moment are disjoint, and together they are all there is', async () => {
  const { first, second } = await openTwo();
  const owed: string[] = [];
  for (let lane = 0; lane < 10; lane++) {
    const { id } = await addEndpoint(first);
    for (const messageId of await addMessages(first, id, 20)) owed.push(`${messageId} ${id}`);
  }
  const leased = await leaseAtOnce([first, second, first, second], each(1));
  expect(leased.map(keyOf).sort()).toEqual(owed.sort());
});

test('a rate limit lets through what it says and no more, whoever asks', async () => {
  const { first, second } = await openTwo();
  const rateLimit = { perSecond: 0.001, burst: 17 };
  const { id } = await addEndpoint(first, { rateLimit });
  await addMessages(first, id, 100);
  expect(await leaseAtOnce([first, second, first, second], withinLimits)).toHaveLength(17);
});

test('so does the limit of a tenant, over all its endpoints', async () => {
  const { first, second } = await openTwo();
  await first.tenants.set('acme', { rateLimit: { perSecond: 0.001, burst: 17 } }, T0);
  const endpoints = await Promise.all([1, 2].map(() => addEndpoint(first, { tenantId: 'acme' })));
  for (const { id } of endpoints) {
    const messages = Array.from({ length: 50 }, () => newMessage([id], { tenantId: 'acme' }));
    await first.messages.insert(messages, true);
  }
  const oneLane = (lanes: readonly Lane[]) => withinLimits(lanes.slice(0, 1));
  expect(await leaseAtOnce([first, second, first, second], oneLane)).toHaveLength(17);
});

test('no more are in flight than maxInFlight, whoever leases', async () => {
  const { first, second } = await openTwo();
  const { id } = await addEndpoint(first, { maxInFlight: 7 });
  await addMessages(first, id, 100);
  expect(await leaseAtOnce([first, second, first, second], withinLimits)).toHaveLength(7);
});

test('an endpoint that has asked to be left alone is asked by one worker alone', async () => {
  const { first, second } = await openTwo();
  const { id } = await addEndpoint(first);
  await addMessages(first, id, 20);
  const [leased] = await lease(first, { now: T0, share: each(1) });
  const news = {
    endpointId: id,
    url: leased!.target.endpoint.url,
    succeeded: false,
    failedAt: T0,
    slowUntil: T0,
    slowStep: 0,
    pause: null,
  };
  await settle(first, [settlementOf(leased!)], { news: [news] });
  const probe = (lanes: readonly Lane[]): Shares => ({
    quotas: new Map(lanes.map((lane) => [lane.endpointId, lane.slowStep > 0 ? 1 - lane.inFlight : 9])),
    nextAt: null,
  });
  expect(await leaseAtOnce([first, second, first, second], probe)).toHaveLength(1);
});

/** Whether a send names its endpoints, or is like one before, which leaves the store to see whether all is as it was. */
const WAYS = [
  ['that name their endpoints', false],
  ['that are like others before', true],
] as const;

/** Has both stores know what they send the next time. */
async function prepare({ first, second }: Two, tenantIds: string[]): Promise<void> {
  const messages = () => tenantIds.map((tenantId) => newMessage([], { tenantId, owedTo: () => [] }));
  for (const store of [first, second]) await store.messages.insert(messages(), false);
}

const owedTo = (ids: string[], isChosen: boolean) => ({ owedTo: isChosen ? () => ids : ids });

describe.each(WAYS)('sends %s', (_which, isChosen) => {
  test('fifty with one idempotency key: one is stored, and the others are told which', async () => {
    const two = await openTwo();
    const { id } = await addEndpoint(two.first, { tenantId: 'acme' });
    await prepare(two, ['acme']);
    const sends = Array.from({ length: 50 }, (_, index) => {
      const message = newMessage([], {
        tenantId: 'acme',
        idempotencyKey: 'key',
        fingerprint: 'same',
        ...owedTo([id], isChosen),
      });
      return (index % 2 ? two.first : two.second).messages.insert([message], false);
    });
    const answers = (await Promise.all(sends)).flat();
    expect(answers.filter(({ outcome }) => outcome === 'stored')).toHaveLength(1);
    expect(answers.filter(({ outcome }) => outcome === 'duplicate')).toHaveLength(49);
    expect(new Set(answers.map((answer) => 'message' in answer && answer.message.id)).size).toBe(1);
    expect(await lease(two.first)).toHaveLength(1);
  });

  test('batches that claim the same keys in another order do not lock each other out', async () => {
    const two = await openTwo();
    const tenantIds = Array.from({ length: 5 }, (_, index) => `t${index}`);
    await prepare(two, tenantIds);
    const batch = () =>
      Array.from({ length: 40 }, (_, index) =>
        newMessage([], {
          tenantId: tenantIds[index % 5]!,
          idempotencyKey: `key ${index}`,
          fingerprint: 'same',
          ...owedTo([], isChosen),
        }),
      );
    const answers = await Promise.all(
      Array.from({ length: 8 }, (_, index) => {
        const messages = index % 2 ? batch() : batch().reverse();
        return (index % 4 < 2 ? two.first : two.second).messages.insert(messages, false);
      }),
    );
    expect(answers.flat().filter(({ outcome }) => outcome === 'stored')).toHaveLength(40);
  });

  test('to a tenant that is deleted meanwhile leave nothing, and none of it comes back', async () => {
    const two = await openTwo();
    const { first, second, rows } = two;
    for (let round = 0; round < ROUNDS; round++) {
      const tenantId = `tenant ${round}`;
      const { id } = await addEndpoint(first, { tenantId });
      await prepare(two, [tenantId]);
      const messages = Array.from({ length: 4 }, () =>
        newMessage([], {
          tenantId,
          idempotencyKey: `${round}`,
          fingerprint: 'same',
          ...owedTo([id], isChosen),
        }),
      );
      const send = (message: NewMessage, index: number) =>
        (index % 2 ? first : second).messages.insert([message], false);
      const sends = messages.slice(0, 2).map(send);
      const deletion = second.tenants.delete(tenantId, positionAt(T0));
      await Promise.all([...sends, deletion, ...messages.slice(2).map(send)]);
      while (await first.tenants.purge(T0));
    }
    for (const table of ['messages', 'payloads', 'deliveries', 'idempotency_keys', 'endpoints', 'tenants']) {
      expect([table, await rows(table)]).toEqual([table, []]);
    }
  });

  test('wait for a key that another process is about to store, and answer what has it', async () => {
    const two = await openTwo();
    await prepare(two, ['acme']);
    await database.query(`begin;
      insert into ${two.schema}.hookplane_messages (id, tenant_id, type, status, created_at, expires_at)
        values ('msg_other', 'acme', 'a', 'pending', ${T0}, ${T0});
      insert into ${two.schema}.hookplane_idempotency_keys (tenant_id, key, message_id, fingerprint, created_at)
        values ('acme', 'key', 'msg_other', 'same', ${T0})`);
    const given = { tenantId: 'acme', idempotencyKey: 'key', fingerprint: 'same', ...owedTo([], isChosen) };
    const sent = two.first.messages.insert([newMessage([], given)], false);
    await waitingForLock();
    await database.query('commit');
    expect(await sent).toMatchObject([{ outcome: 'duplicate', message: { id: 'msg_other' } }]);
  });

  test('wait for the deletion of their tenant, and make it anew', async () => {
    const two = await openTwo();
    await prepare(two, ['acme']);
    await database.query(`begin; delete from ${two.schema}.hookplane_tenants where id = 'acme'`);
    const given = { tenantId: 'acme', ...owedTo([], isChosen) };
    const sent = two.first.messages.insert([newMessage([], given)], false);
    await waitingForLock();
    await database.query('commit');
    expect(await sent).toMatchObject([{ outcome: 'stored' }]);
    expect(await two.rows('tenants')).toMatchObject([{ id: 'acme' }]);
  });
});

test('a send that is broken off by a deadlock is made again', async () => {
  const two = await openTwo();
  await prepare(two, ['a', 'b']);
  const lock = (id: string) =>
    database.query(`select from ${two.schema}.hookplane_tenants where id = '${id}' for update`);
  await database.query('begin');
  await lock('b');
  const messages = ['a', 'b'].map((tenantId) => newMessage([], { tenantId, owedTo: () => [] }));
  const sent = two.first.messages.insert(messages, false);
  await waitingForLock();
  // The send waited first, so it is the one that finds out, after a second.
  await lock('a');
  await database.query('commit');
  expect(await sent).toMatchObject([{ outcome: 'stored' }, { outcome: 'stored' }]);
  expect(await two.rows('messages')).toHaveLength(6);
});

test('an endpoint that is given a limit while a send reads it is not leased by later ones, which expect it to be open', async () => {
  const schema = `race_${++schemas}`;
  let beforeRead: (() => Promise<unknown>) | undefined;
  const pool = new Pool({ connectionString: database.url, ...{ pipeline: true } });
  pool.on('connect', (client: PoolClient) => {
    const query = client.query.bind(client) as (...given: unknown[]) => Promise<unknown>;
    client.query = (async (given: { text: string }) => {
      const work = given.text.includes('secret_expires_at') ? beforeRead : undefined;
      if (work) {
        beforeRead = undefined;
        await work();
      }
      return query(given);
    }) as never;
  });
  const store = postgresStore({ pool, schema, listen: false });
  const other = postgresStore({ connectionString: database.url, schema, listen: false });
  onCleanUp('test', 'sender', async () => {
    await Promise.all([store.close(), other.close()]);
    await pool.end();
  });
  await store.open();
  await other.open();
  const { id } = await addEndpoint(other, { tenantId: 'acme' });
  const send = async () => {
    const message = newMessage([], {
      tenantId: 'acme',
      owedTo: (ofTenant) => ofTenant.map((each) => each.id),
    });
    const asked = { owner: 'worker', now: T0, leaseMs: 60_000, most: 9, share: each() };
    const [inserted] = await store.messages.insert([message], false, asked);
    const leased = inserted?.outcome === 'stored' ? inserted.leased : [];
    for (const one of leased) await settle(store, [settlementOf(one)]);
    return leased.length;
  };
  expect(await send()).toBe(1);
  await other.endpoints.update(undefined, id, { description: 'changed' }, T0);
  beforeRead = () => other.endpoints.update(undefined, id, { maxInFlight: 1 }, T0);
  await send();
  expect(beforeRead).toBeUndefined();
  expect(await send()).toBe(0);
});

/** Waits until one transaction of this database waits for another. */
async function waitingForLock(): Promise<void> {
  await eventually(async () => {
    // Within a transaction it would be told the same again and again.
    await database.query('select pg_stat_clear_snapshot()');
    const waiting = await database.query(
      "select pid from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'",
    );
    expect(waiting).toHaveLength(1);
  });
}

test('deliveries of one message that are settled at the same moment finish it', async () => {
  const { first, second } = await openTwo();
  const [a, b] = [await addEndpoint(first), await addEndpoint(first)];
  for (let round = 0; round < ROUNDS; round++) {
    const messages = Array.from({ length: 10 }, () => newMessage([a.id, b.id]));
    await first.messages.insert(messages, true);
    const only = (id: string) => () => ({ quotas: new Map([[id, 1000]]), nextAt: null });
    const ofA = await lease(first, { owner: 'a', share: only(a.id) });
    const ofB = await lease(second, { owner: 'b', share: only(b.id) });
    const settlements = (leased: LeasedDelivery[]) => leased.map((one) => settlementOf(one));
    const settled = await Promise.all([
      settle(first, settlements(ofA), { owner: 'a' }),
      settle(second, settlements(ofB).reverse(), { owner: 'b' }),
    ]);
    expect(settled).toMatchObject([{ refused: [] }, { refused: [] }]);
    for (const { id } of messages) expect(await statusOf(first, id)).toBe('delivered');
  }
});

test('a worker may renew its leases while it settles them', async () => {
  const { first } = await openTwo();
  const { id } = await addEndpoint(first);
  for (let round = 0; round < ROUNDS; round++) {
    await addMessages(first, id, 50);
    const leased = await lease(first, { now: T0 + 50 });
    const [settled] = await Promise.all([
      settle(
        first,
        leased.map((one) => settlementOf(one)),
      ),
      first.outbox.renew('worker', [...leased].reverse(), 120_000, T0 + 50),
    ]);
    expect(settled.refused).toEqual([]);
  }
});

test('an endpoint that is deleted while its deliveries are settled leaves nothing pending', async () => {
  const { first, second, rows } = await openTwo();
  for (let round = 0; round < ROUNDS; round++) {
    const { id } = await addEndpoint(first);
    await addMessages(first, id, 30);
    const leased = await lease(first, { now: T0 + 30, share: each(15) });
    const news = {
      endpointId: id,
      url: leased[0]!.target.endpoint.url,
      succeeded: false,
      slowUntil: null,
      slowStep: 0,
    };
    const sent = newMessage([id]);
    await Promise.all([
      settle(
        first,
        leased.map((one) => settlementOf(one)),
        { news: [{ ...news, failedAt: T0, pause: null }] },
      ),
      second.endpoints.delete(undefined, id, T0),
      first.messages.insert([sent], false),
    ]);
  }
  // What a send has stored for an endpoint that was just being deleted.
  await first.outbox.cancelOrphans(T0);
  const left = await rows('deliveries');
  expect(new Set(left.map(({ status }) => status))).toEqual(new Set(['delivered', 'canceled']));
  const messages = await rows('messages');
  expect(messages.filter(({ status }) => status === 'pending')).toEqual([]);
});

test('a message that is expunged while it is settled keeps no response body', async () => {
  const { first, second, rows } = await openTwo();
  const { id } = await addEndpoint(first);
  for (let round = 0; round < ROUNDS; round++) {
    const messageId = await addMessage(first, [id]);
    const leased = await lease(first);
    await Promise.all([
      settle(
        first,
        leased.map((one) => settlementOf(one)),
      ),
      second.messages.expunge(undefined, messageId, T0),
    ]);
  }
  const attempts = await rows('attempts');
  expect(attempts).toHaveLength(ROUNDS);
  expect(attempts.filter((attempt) => attempt.response_body !== null)).toEqual([]);
});

test('a message that is replayed while retention removes it is there as a whole, or not at all', async () => {
  const { first, second, rows } = await openTwo();
  const { id } = await addEndpoint(first);
  let kept = 0;
  for (let round = 0; round < ROUNDS; round++) {
    const messageId = await addMessage(first, [id]);
    await finish(first, messageId, id);
    const request = { endpointId: id, messageIds: [messageId], webhookIds: null, expiresAt: T0 + 9, now: T0 };
    const [requeued] = await Promise.all([
      first.outbox.requeue(request),
      second.messages.removeFinished(T0, T0),
    ]);
    kept += requeued.length;
    expect(await statusOf(first, messageId)).toBe(requeued.length > 0 ? 'pending' : undefined);
    if (requeued.length > 0) await finish(first, messageId, id);
    while ((await second.messages.removeFinished(T0, T0)).more);
  }
  expect(kept).toBeLessThanOrEqual(ROUNDS);
  for (const table of ['messages', 'payloads', 'deliveries', 'attempts']) {
    expect([table, await rows(table)]).toEqual([table, []]);
  }
});
