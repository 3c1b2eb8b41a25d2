import type { Kysely } from 'kysely';
import type { Endpoint } from '../../model/endpoint.js';
import type { Store } from '../store.js';
import type { SqlDialect } from './dialect.js';
import { insertMessages } from './message-insert.js';
import { toEndpoint } from './rows.js';
import type { Tables } from './schema.js';
import { rowsOf, type SqlConnection, type Steps } from './steps.js';

export function* endpointsOf(db: Kysely<Tables>, tenantId: string | null): Steps<Endpoint[]> {
  const rows = yield* rowsOf(
    db
      .selectFrom('hookplane_endpoints')
      .selectAll()
      .where('tenant_id', tenantId === null ? 'is' : '=', tenantId),
  );
  return rows.map(toEndpoint);
}

/** What a send asks of the store, done in transactions of the application's. */
export function sendingWithin(
  dialect: SqlDialect,
  opened: () => SqlConnection,
): Pick<Store, 'within' | 'withinSync'> {
  return {
    async within(transaction, send) {
      const { db, within } = opened();
      return within(transaction, (run) =>
        send({
          ofTenant: (tenantId) => run(endpointsOf(db, tenantId)),
          insert: (messages) => run(insertMessages(db, dialect, messages, true, true)),
        }),
      );
    },
    withinSync(transaction, send) {
      const { db, withinSync } = opened();
      return withinSync(transaction, (run) =>
        send({
          ofTenant: (tenantId) => run(endpointsOf(db, tenantId)),
          insert: (messages) => run(insertMessages(db, dialect, messages, true)),
        }),
      );
    },
  };
}
