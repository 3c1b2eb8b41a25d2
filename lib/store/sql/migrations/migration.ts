import type { RawBuilder } from 'kysely';
import type { SqlDialect } from '../dialect.js';

/** A step of the schema. Steps are numbered from 1, run once, in order, and never back. */
export interface Migration {
  version: number;
  name: string;
  statements(dialect: SqlDialect): RawBuilder<unknown>[];
}
