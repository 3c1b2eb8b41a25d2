import type { Store } from '../store.js';
import type { SqlContext } from './context.js';
import { insertMessages } from './message-insert.js';
import type { SqlConnection } from './steps.js';

/** What a send asks of the store, done in transactions of the application's. */
export function sendingWithin(
  context: SqlContext,
  opened: () => SqlConnection,
): Pick<Store, 'within' | 'withinSync'> {
  const { endpointCache } = context;
  return {
    async within(transaction, send) {
      const { db, within } = opened();
      return within(transaction, (run) =>
        send({
          ofTenants: (tenantIds) => run(endpointCache.ofTenants(db, tenantIds)),
          insert: (messages) =>
            run(insertMessages(db, context, messages, { allOrNone: true, everyone: true })),
        }),
      );
    },
    withinSync(transaction, send) {
      const { db, withinSync } = opened();
      return withinSync(transaction, (run) =>
        send({
          ofTenants: (tenantIds) => run(endpointCache.ofTenants(db, tenantIds)),
          insert: (messages) => run(insertMessages(db, context, messages, { allOrNone: true })),
        }),
      );
    },
  };
}
