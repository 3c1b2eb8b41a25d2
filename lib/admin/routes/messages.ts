import { z } from 'zod';
import { type AttemptStatus, MESSAGE_STATUSES, type MessageStatus } from '../../model/message.js';
import { oneOf, pageQuery, tenantQuery } from '../input.js';
import type { Route } from '../route.js';

const text = z.string().min(1);

export const listMessages: Route = {
  operation: 'messages.list',
  method: 'GET',
  path: '/messages',
  query: {
    ...pageQuery,
    ...tenantQuery,
    type: { schema: text, many: true },
    status: { schema: oneOf(MESSAGE_STATUSES), many: true },
    since: { schema: text },
    until: { schema: text },
    endpointId: { schema: text },
  },
  async run({ scope, query: { type, status, ...query } }) {
    const types = type as string[] | undefined;
    const statuses = status as MessageStatus[] | undefined;
    return { status: 200, body: await scope.messages.list({ ...query, types, statuses }) };
  },
};

export const getMessage: Route = {
  operation: 'messages.get',
  method: 'GET',
  path: '/messages/:id',
  run: async ({ scope, params }) => ({ status: 200, body: await scope.messages.get(params.id!) }),
};

/** The spec narrows by delivery status: `delivered` is the word for an attempt that succeeded. */
const ATTEMPT_WORDS: Record<'succeeded' | 'failed' | 'delivered', AttemptStatus> = {
  succeeded: 'succeeded',
  failed: 'failed',
  delivered: 'succeeded',
};

export const listAttempts: Route = {
  operation: 'messages.attempts',
  method: 'GET',
  path: '/messages/:id/attempts',
  query: {
    ...pageQuery,
    status: { schema: oneOf(Object.keys(ATTEMPT_WORDS) as (keyof typeof ATTEMPT_WORDS)[]) },
  },
  async run({ scope, params, query: { status: word, ...query } }) {
    const status = word === undefined ? undefined : ATTEMPT_WORDS[word as keyof typeof ATTEMPT_WORDS];
    return { status: 200, body: await scope.messages.attempts(params.id!, { ...query, status }) };
  },
};
