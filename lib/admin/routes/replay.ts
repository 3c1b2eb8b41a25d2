import type { MessageReplay, RangeReplay, ReconcileRequest } from '../../model/replay.js';
import type { Route } from '../route.js';

export const replay: Route = {
  operation: 'replay',
  method: 'POST',
  path: '/replay',
  body: 'required',
  run: async ({ scope, body }) => ({
    status: 200,
    body: await scope.replay(body as unknown as MessageReplay | RangeReplay),
  }),
};

export const reconcile: Route = {
  operation: 'reconcile',
  method: 'POST',
  path: '/reconcile',
  body: 'required',
  run: async ({ scope, body }) => ({
    status: 200,
    body: await scope.reconcile(body as unknown as ReconcileRequest),
  }),
};
