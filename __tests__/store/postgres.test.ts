import { postgresStore } from '../../lib/store/postgres.js';
import type { Store } from '../../lib/store/store.js';
import { storeContract } from '../contracts/store.js';
import { createDatabase, type TestDatabase } from '../support/postgres/database.js';

let database: TestDatabase;
let schemas = 0;
let emptySchema: string | undefined;
beforeAll(async () => {
  database = await createDatabase();
});

storeContract('PostgreSQL', async (emptied) => {
  // To make a schema takes ten times as long as to empty one.
  const schema = (emptied && emptySchema) || `contract_${++schemas}`;
  if (schema === emptySchema) await database.empty(schema);
  if (emptied) emptySchema = schema;
  const stores: Store[] = [];
  const make = (options: { migrate?: boolean } = {}): Store => {
    const store = postgresStore({
      connectionString: database.url,
      schema,
      // A machine that is busy with other things must not fail a test.
      statementTimeoutMs: 20_000,
      ...options,
    });
    stores.push(store);
    return store;
  };
  return {
    store: make(),
    reopen: async (options) => make(options),
    async setSchemaVersion(version) {
      await database.query(`update ${schema}.hookplane_schema_migrations set version = ${version}`);
    },
    close: async () => void (await Promise.all(stores.map((store) => store.close()))),
  };
});
