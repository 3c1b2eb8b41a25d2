export type { PostgresClient, PostgresPool, PostgresStoreOptions } from '../store/postgres.js';
export { postgresStore } from '../store/postgres.js';
export type { Store } from '../store/store.js';
