import { z } from 'zod';
import { validationError } from '../../model/errors.js';
import {
  idempotencyKey,
  MESSAGE_STATUSES,
  type MessageInput,
  messageInput,
  type MessageStatus,
} from '../../model/message.js';
import { attemptQuery, oneOf, pageQuery, rangeQuery, readAttemptStatus, tenantQuery } from '../input.js';
import type { Route } from '../route.js';
import { attemptPage, messageDetail, messagePage, sentMessage } from '../schemas/message.js';

const text = z.string().min(1);

export const listMessages: Route = {
  operation: 'messages.list',
  method: 'GET',
  path: '/messages',
  summary: 'List messages',
  description: 'Newest first. `since` and `until` are about when a message was sent.',
  answers: { 200: messagePage },
  errors: [],
  query: {
    ...pageQuery,
    ...tenantQuery,
    type: { schema: text, many: true, description: 'Only messages of this type, word for word.' },
    status: {
      schema: oneOf(MESSAGE_STATUSES),
      many: true,
      description: 'Only messages in this state.',
    },
    ...rangeQuery,
    endpointId: { schema: text, description: 'Only messages that are, or were, owed to this endpoint.' },
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
  summary: 'Read a message',
  answers: { 200: messageDetail },
  errors: ['MESSAGE_NOT_FOUND'],
  run: async ({ scope, params }) => ({ status: 200, body: await scope.messages.get(params.id!) }),
};

export const listAttempts: Route = {
  operation: 'messages.attempts',
  method: 'GET',
  path: '/messages/:id/attempts',
  summary: 'List the attempts for a message',
  description: 'Oldest first, to every endpoint it is owed to.',
  answers: { 200: attemptPage },
  errors: ['MESSAGE_NOT_FOUND'],
  query: { ...pageQuery, ...attemptQuery },
  run: async ({ scope, params, query }) => ({
    status: 200,
    body: await scope.messages.attempts(params.id!, readAttemptStatus(query)),
  }),
};

const IDEMPOTENCY_KEY = 'idempotency-key';

export const sendMessage: Route = {
  operation: 'send',
  method: 'POST',
  path: '/messages',
  tag: 'messages',
  summary: 'Send a message',
  description:
    'Answers when the message, and a delivery for each endpoint that matches, is stored. A second send with the same idempotency key answers 200 and the first message.',
  answers: { 200: sentMessage, 201: sentMessage },
  errors: ['MESSAGE_VALIDATION', 'IDEMPOTENCY_CONFLICT', 'TENANT_NOT_FOUND'],
  headers: {
    [IDEMPOTENCY_KEY]: {
      schema: idempotencyKey,
      description: 'The same as `idempotencyKey` of the body; where both are given, they must be the same.',
    },
  },
  body: 'required',
  input: messageInput,
  async run({ scope, headers, body }) {
    const sent = await scope.send(withKey(body, headers[IDEMPOTENCY_KEY]) as unknown as MessageInput);
    return { status: sent.duplicate ? 200 : 201, body: sent, createdId: sent.id };
  },
};

/** The key may be given in the header or in the body, or in both if it is the same. */
function withKey(body: Record<string, unknown>, key: string | undefined): Record<string, unknown> {
  if (key === undefined) return body;
  const own = body.idempotencyKey ?? key;
  if (own === key) return { ...body, idempotencyKey: key };
  throw validationError('MESSAGE_VALIDATION', 'The message', [
    { path: 'idempotencyKey', message: 'is not the one in the Idempotency-Key header: give it once' },
  ]);
}

export const expungePayload: Route = {
  operation: 'messages.expungePayload',
  method: 'DELETE',
  path: '/messages/:id/payload',
  summary: 'Expunge the payload of a message',
  description:
    'Removes the payload and what receivers answered to it, and cancels what is still owed of it. The history stays readable. Again, it changes nothing.',
  answers: { 204: null },
  errors: ['MESSAGE_NOT_FOUND'],
  async run({ scope, params }) {
    await scope.messages.expungePayload(params.id!);
    return { status: 204 };
  },
};
