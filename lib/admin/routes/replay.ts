import {
  type MessageReplay,
  type RangeReplay,
  reconcileInput,
  type ReconcileRequest,
} from '../../model/replay.js';
import type { Route } from '../route.js';
import { reconcileResult, replayRequest, replayResult } from '../schemas/replay.js';

export const replay: Route = {
  operation: 'replay',
  method: 'POST',
  path: '/replay',
  summary: 'Send again',
  description:
    'Makes deliveries due again, one page a call, oldest first: go on with `nextCursor` until it is null. A finished delivery starts its schedule anew; one that is in flight is left alone and not counted.',
  answers: { 200: replayResult },
  errors: ['MESSAGE_NOT_FOUND', 'ENDPOINT_NOT_FOUND', 'ENDPOINT_DISABLED', 'REPLAY_VALIDATION'],
  body: 'required',
  input: replayRequest,
  run: async ({ scope, body }) => ({
    status: 200,
    body: await scope.replay(body as unknown as MessageReplay | RangeReplay),
  }),
};

export const reconcile: Route = {
  operation: 'reconcile',
  method: 'POST',
  path: '/reconcile',
  tag: 'replay',
  summary: 'Find what is missing',
  description:
    'The messages of a range that match the endpoint and were never delivered to it. It changes nothing.',
  answers: { 200: reconcileResult },
  errors: ['ENDPOINT_NOT_FOUND', 'REPLAY_VALIDATION'],
  body: 'required',
  input: reconcileInput,
  run: async ({ scope, body }) => ({
    status: 200,
    body: await scope.reconcile(body as unknown as ReconcileRequest),
  }),
};
