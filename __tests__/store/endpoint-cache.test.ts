import Database from 'better-sqlite3';
import { createEndpointCache } from '../../lib/store/sql/endpoint-cache.js';
import { connectSqlite } from '../../lib/store/sql/sqlite-connection.js';
import { sqliteDialect, sqliteStore } from '../../lib/store/sqlite.js';
import { addEndpoint } from '../contracts/store/fixtures.js';
import { onCleanUp } from '../support/clean-up.js';

test('no more endpoints are kept in lists of tenants than may be, the oldest list first to go', async () => {
  const database = new Database(':memory:');
  onCleanUp('test', 'folder', async () => void database.close());
  const store = sqliteStore({ database });
  await store.open();
  for (const [tenantId, count] of Object.entries({ a: 3, b: 3, many: 5 }))
    for (let made = 0; made < count; made++) await addEndpoint(store, { tenantId });
  const { db, read } = connectSqlite(database, { synchronous: 'normal', keepOpen: true });
  const cache = createEndpointCache(sqliteDialect, 4);
  const ofTenant = async (id: string) => (await read(() => cache.ofTenants(db, [id]))).get(id);
  const a = await ofTenant('a');
  expect(await ofTenant('a')).toBe(a);
  const b = await ofTenant('b');
  expect(await ofTenant('b')).toBe(b);
  const again = await ofTenant('a');
  expect(again).not.toBe(a);
  expect(again).toEqual(a);
  const many = await ofTenant('many');
  expect(many).toHaveLength(5);
  expect(await ofTenant('many')).not.toBe(many);
});
