import { join } from 'node:path';
import Database from 'better-sqlite3';
import { sqliteStore } from '../../lib/store/sqlite.js';
import type { Store } from '../../lib/store/store.js';
import {
  addEndpoint,
  lease,
  newMessage,
  positionAt,
  settle,
  settlementOf,
  T0,
} from '../contracts/store/fixtures.js';
import { onCleanUp } from '../support/clean-up.js';
import { temporaryFolder } from '../support/sender.js';

const CANARY = 'CANARY-77aa';
/** A batch has at most 250 messages with what is one row of each, and 1000 deliveries and attempts. */
const MOST_ROWS = 250 * 3 + 1000 + 250;

async function openStore() {
  const database = new Database(join(await temporaryFolder(), 'store.sqlite'));
  const store = sqliteStore({ database });
  onCleanUp('test', 'sender', () => store.close());
  onCleanUp('test', 'folder', async () => void database.close());
  await store.open();
  const changed = () => database.prepare('select total_changes() as count').pluck().get() as number;
  return {
    store,
    /** The rows that a call changes. */
    async rowsOf(work: () => Promise<unknown>): Promise<number> {
      const before = changed();
      await work();
      return changed() - before;
    },
    /** Every row of every table that holds the text. */
    rowsWith(text: string): unknown[] {
      const tables = database
        .prepare("select name from sqlite_master where type = 'table' and name like 'hookplane%'")
        .pluck()
        .all() as string[];
      const rows = tables.flatMap((table) =>
        database.prepare(`select '${table}' as t, * from ${table}`).all(),
      );
      return rows.filter((row) => JSON.stringify(row).includes(text));
    },
  };
}

/** Messages that were delivered to three endpoints each. */
async function addDelivered(store: Store, tenantId: string, count: number): Promise<void> {
  const endpointIds: string[] = [];
  for (let index = 0; index < 3; index++)
    endpointIds.push((await addEndpoint(store, { tenantId, description: CANARY })).id);
  const messages = Array.from({ length: count }, (_each, index) =>
    newMessage(endpointIds, { tenantId, payload: CANARY, idempotencyKey: `${CANARY} ${index}` }),
  );
  await store.messages.insert(messages, true);
  const leased = await lease(store);
  await settle(
    store,
    leased.map((each) => settlementOf(each)),
  );
}

test('a batch of retention changes a bounded number of rows, however much there is', async () => {
  const { store, rowsOf, rowsWith } = await openStore();
  await addDelivered(store, 'acme', 1000);
  const batches: number[] = [];
  for (let more = true; more; ) {
    batches.push(
      await rowsOf(async () => {
        ({ more } = await store.messages.removeFinished(T0, T0 + 2 * 86_400_000));
      }),
    );
  }
  expect(batches.length).toBeGreaterThanOrEqual(7);
  expect(Math.max(...batches)).toBeLessThanOrEqual(MOST_ROWS);
  expect(rowsWith(CANARY).map((row) => (row as { t: string }).t)).toEqual(
    Array(3).fill('hookplane_endpoints'),
  );
});

test('so does a deletion of a tenant, and each batch of its purge; nothing of it is in any table then', async () => {
  const { store, rowsOf, rowsWith } = await openStore();
  await addDelivered(store, `tenant ${CANARY}`, 1000);
  const batches = [await rowsOf(() => store.tenants.delete(`tenant ${CANARY}`, positionAt(T0)))];
  for (let more = true; more; ) {
    batches.push(
      await rowsOf(async () => {
        more = await store.tenants.purge(T0);
      }),
    );
  }
  expect(batches.length).toBeGreaterThanOrEqual(7);
  // The first one takes the tenant, its endpoints and their secrets as well.
  expect(Math.max(...batches)).toBeLessThanOrEqual(MOST_ROWS + 8);
  expect(rowsWith(CANARY)).toEqual([]);
});

test('the record of a message that an idempotency key outlives goes with the tenant, however many there are', async () => {
  const { store, rowsOf, rowsWith } = await openStore();
  await addDelivered(store, 'acme', 600);
  while ((await store.messages.removeFinished(T0, T0 + 1)).more);
  expect(rowsWith(CANARY).length).toBe(600 + 3);
  const batches = [await rowsOf(() => store.tenants.delete('acme', positionAt(T0)))];
  for (let more = true; more; )
    batches.push(
      await rowsOf(async () => {
        more = await store.tenants.purge(T0);
      }),
    );
  expect(Math.max(...batches)).toBeLessThanOrEqual(MOST_ROWS);
  expect(rowsWith(CANARY)).toEqual([]);
});
