import { postgres } from './stores/postgres.mjs';
import { sqlite } from './stores/sqlite.mjs';

/** What a campaign asks of a database, by name. The tables are the same in all of them. */
export const STORES = { sqlite, postgres };
