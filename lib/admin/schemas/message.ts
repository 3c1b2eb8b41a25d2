import { z } from 'zod';
import {
  type Attempt,
  type Delivery,
  type Message,
  type MessageDetail,
  messageInput,
  type Payload,
  type SentMessage,
  testInput,
} from '../../model/message.js';
import { component, EXAMPLE, nextCursor, schemaOf, time } from './component.js';

const messageExample: Message = {
  id: EXAMPLE.messageId,
  tenantId: 'acme',
  type: 'invoice.paid',
  channels: null,
  status: 'delivered',
  idempotencyKey: 'inv_1-paid',
  createdAt: '2026-01-15T12:00:00.000Z',
  expiresAt: '2026-02-14T12:00:00.000Z',
};

export const message = component(
  schemaOf<Message>()(
    z.object({
      id: z
        .string()
        .describe('`msg_…`. Opaque; ids sort by when they were made. Receivers see it as `webhook-id`.'),
      tenantId: z.string().nullable().describe('Whose endpoints it is for. Null is a tenant like others.'),
      type: z.string().describe('What happened: `invoice.paid`.'),
      channels: z
        .array(z.string())
        .nullable()
        .describe('Endpoints that name channels get it if they name one of these.'),
      status: z
        .enum(['pending', 'delivered', 'failed', 'unrouted'])
        .describe(
          'The sum of its deliveries. `pending`: one is still owed; `failed`: none is owed, one was given up; `delivered`: all succeeded; `unrouted`: no endpoint matched.',
        ),
      idempotencyKey: z.string().nullable().describe('The key it was sent with.'),
      createdAt: time.describe('When it was sent.'),
      expiresAt: time.describe('When what is still owed is given up.'),
    }),
  ),
  {
    id: 'Message',
    description: 'Something that happened, owed to every endpoint of its tenant that matches it.',
    examples: [messageExample],
  },
);

export const messagePage = component(
  schemaOf<{ messages: Message[]; nextCursor: string | null }>()(
    z.object({ messages: z.array(message).describe('Newest first.'), nextCursor }),
  ),
  { id: 'MessagePage', description: 'A page of messages.' },
);

export const payload = component(
  schemaOf<Payload>()(
    z.object({
      type: z.string().describe('What happened: `invoice.paid`.'),
      timestamp: time.describe('When the message was sent.'),
      data: z.unknown().describe('What the application says of it; any JSON value.'),
    }),
  ),
  {
    id: 'Payload',
    description: 'The event exactly as it is delivered: the same bytes at every attempt.',
    examples: [EXAMPLE.payload],
  },
);

export const delivery = component(
  schemaOf<Delivery>()(
    z.object({
      endpointId: z.string().describe('The endpoint, which may have been deleted since.'),
      status: z
        .enum(['pending', 'delivered', 'failed', 'canceled'])
        .describe(
          '`failed`: it was given up; `canceled`: the endpoint was deleted, or the payload expunged.',
        ),
      attemptCount: z.int().describe('How many attempts were made.'),
      nextAttemptAt: time.nullable().describe('When it is due; null when no more attempts are made.'),
      lastError: z.string().nullable().describe('Why the last attempt failed.'),
    }),
  ),
  { id: 'Delivery', description: 'What a message owes to one endpoint.' },
);

export const messageDetail = component(
  schemaOf<MessageDetail>()(
    z.intersection(
      message,
      z.object({
        payload: payload.nullable().describe('What is delivered; null once it was expunged.'),
        deliveries: z.array(delivery).describe('One for each endpoint it was owed to.'),
      }),
    ),
  ),
  {
    id: 'MessageDetail',
    description: 'The message, what is delivered, and what became of it at each endpoint.',
    examples: [
      {
        ...messageExample,
        payload: EXAMPLE.payload,
        deliveries: [
          {
            endpointId: EXAMPLE.endpointId,
            status: 'delivered',
            attemptCount: 2,
            nextAttemptAt: null,
            lastError: null,
          },
        ],
      },
    ],
  },
);

export const sentMessage = component(
  schemaOf<SentMessage>()(
    z.intersection(
      message,
      z.object({
        duplicate: z
          .boolean()
          .describe('True when an earlier send with the same idempotency key had stored it.'),
      }),
    ),
  ),
  {
    id: 'SentMessage',
    description: 'The message as it is stored.',
    examples: [{ ...messageExample, status: 'pending', duplicate: false }],
  },
);

export const attempt = component(
  schemaOf<Attempt>()(
    z.object({
      id: z.string().describe('`att_…`'),
      messageId: z.string().describe('What was sent.'),
      endpointId: z.string().describe('Where to.'),
      number: z.int().describe('Counts from 1 for each delivery, and goes on after a replay.'),
      status: z
        .enum(['succeeded', 'failed'])
        .describe('A 2xx status is a success, everything else a failure.'),
      trigger: z.enum(['send', 'retry', 'replay', 'test']).describe('Why it was made.'),
      startedAt: time.describe('When it began.'),
      durationMs: z.int().describe('Milliseconds from the name look-up to the end of the answer.'),
      requestUrl: z.string().describe('The URL posted to.'),
      remoteAddress: z
        .string()
        .nullable()
        .describe(
          'The address connected to; null when there was none, or when only an egress proxy knows it.',
        ),
      responseStatus: z.int().nullable().describe('Null when no response came.'),
      responseHeaders: z.record(z.string(), z.string()).nullable().describe('Null when no response came.'),
      responseBody: z.string().nullable().describe('The first 4 KiB, as text.'),
      errorKind: z
        .enum([
          'http_status',
          'timeout',
          'dns',
          'connect',
          'tls',
          'reset',
          'blocked_address',
          'redirect',
          'invalid_response',
          'transform',
        ])
        .nullable()
        .describe(
          'Why it failed. `http_status`: an answer that is no 2xx and no redirect; `blocked_address`: the URL leads to an address that is not public; `transform`: code of the application failed.',
        ),
      error: z.string().nullable().describe('The same as a sentence.'),
      nextAttemptAt: time
        .nullable()
        .describe('When the next one was due after it; null when there was none.'),
    }),
  ),
  {
    id: 'Attempt',
    description: 'One request made for a delivery, and its answer.',
    examples: [
      {
        id: 'att_01jf0odng08k2vqg4t5u6b7c8d',
        messageId: EXAMPLE.messageId,
        endpointId: EXAMPLE.endpointId,
        number: 1,
        status: 'failed',
        trigger: 'send',
        startedAt: '2026-01-15T12:00:00.041Z',
        durationMs: 87,
        requestUrl: 'https://example.com/webhooks',
        remoteAddress: '203.0.113.7',
        responseStatus: 502,
        responseHeaders: { 'content-type': 'text/html' },
        responseBody: '<h1>Bad Gateway</h1>',
        errorKind: 'http_status',
        error: 'The receiver answered 502',
        nextAttemptAt: '2026-01-15T12:00:05.112Z',
      },
    ],
  },
);

export const attemptPage = component(
  schemaOf<{ attempts: Attempt[]; nextCursor: string | null }>()(
    z.object({
      attempts: z.array(attempt).describe('Oldest first for a message, newest first for an endpoint.'),
      nextCursor,
    }),
  ),
  { id: 'AttemptPage', description: 'A page of attempts.' },
);

component(messageInput, {
  id: 'MessageInput',
  description: 'A message to send. Only `type` and `data` are required.',
  fields: {
    type: 'What happened: segments of letters, digits, `_` and `-`, joined by full stops.',
    data: 'What to say of it; any JSON value.',
    tenantId: 'Whose endpoints it is for. A caller that is bound to a tenant leaves it out.',
    channels: 'Endpoints that name channels get it if they name one of these.',
    idempotencyKey:
      'A second send of the same tenant with the same key stores nothing and answers the first message. No control characters.',
    expiresAt:
      'When what is still owed is given up: an RFC 3339 time with an offset, or a date. Default: 30 days from now, unless the application says otherwise.',
  },
  examples: [
    {
      type: 'invoice.paid',
      data: { id: 'inv_1', total: 4200 },
      tenantId: 'acme',
      idempotencyKey: 'inv_1-paid',
    },
  ],
});
component(testInput, {
  id: 'TestInput',
  description: 'What to send in place of the test’s own event.',
  fields: {
    type: 'The type of the event.',
    data: 'Any JSON value. Default: an object with a sentence.',
  },
  examples: [{ type: 'invoice.paid', data: { id: 'inv_1', total: 4200 } }],
});
