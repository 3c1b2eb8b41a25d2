import { z } from 'zod';
import {
  type Endpoint,
  type EndpointSecrets,
  endpointCreate,
  endpointUpdate,
  filter,
  filterClause,
  retrySchedule,
  type RetrySchedule,
  secretRotation,
} from '../../model/endpoint.js';
import { type RateLimit, rateLimitInput } from '../../model/rate-limit.js';
import type { EndpointWithSecret } from '../../model/scope.js';
import { component, EXAMPLE, freeForm, nextCursor, schemaOf, time } from './component.js';

component(filterClause, {
  id: 'FilterClause',
  description: 'A condition on the `data` of a message: the value at `dataPath` equals `equals`.',
  fields: {
    dataPath:
      'Property names and array indexes joined by full stops: `order.lines.0.sku`. At most 16 segments, none of them empty, `__proto__`, `constructor` or `prototype`.',
    equals: 'Any JSON value; objects and arrays are compared in depth.',
  },
  examples: [{ dataPath: 'customer.plan', equals: 'pro' }],
});
component(filter, {
  id: 'Filter',
  description: 'A clause, or a list of clauses of which every one must hold.',
});

export const rateLimit = component(
  schemaOf<RateLimit>()(
    z.object({
      perSecond: z.number().describe('Requests a second, on average.'),
      burst: z.int().describe('How many may go out at once.'),
    }),
  ),
  { id: 'RateLimit', description: 'A ceiling on requests. It delays deliveries and spends no attempts.' },
);
component(rateLimitInput, {
  id: 'RateLimitInput',
  description: 'A ceiling on requests. It delays deliveries and spends no attempts.',
  fields: {
    perSecond: 'Requests a second, on average. Fractions are allowed: 0.1 is one every ten seconds.',
    burst: 'How many may go out at once. Default: `perSecond`, rounded up.',
  },
});

const retryFields = {
  delaysSeconds:
    'Seconds to wait before the second, third, … attempt. After the last one the delivery is `failed`; an empty list is a single attempt.',
  jitter: 'The share of each wait, 0 to 1, by which it is moved at random, earlier or later.',
};
const retry = component(
  schemaOf<RetrySchedule>()(z.object({ delaysSeconds: z.array(z.number()), jitter: z.number() })),
  { id: 'RetrySchedule', description: 'When a failed delivery is tried again.', fields: retryFields },
);
component(retrySchedule, {
  id: 'RetryScheduleInput',
  description: 'When a failed delivery is tried again.',
  fields: retryFields,
});

const settings = {
  url: 'Where messages are posted: https and a public address, unless the application admits others. No credentials in it; redirects are not followed.',
  description: 'For people.',
  types:
    'Which message types it gets: `invoice.paid`, `*`, or `order.*`, which stands for one or more segments after `order`. Null is every type.',
  channels:
    'It gets messages that name one of these channels. Null is every message, with and without channels.',
  filter: 'What the `data` of a message must hold for it to be sent here. Null is every message.',
  headers:
    'Sent along with every request. At most 32, 8 KiB in all, values of visible ASCII. Names that belong to the request, to its signature or to a proxy (`host`, `cookie`, `content-*`, `webhook-*`, `x-forwarded-*` and the like) are refused.',
  metadata:
    'A JSON object of the application’s own. `__proto__`, `constructor` and `prototype` are refused as names.',
  retry: 'Its own schedule of retries. Null is the application’s.',
  rateLimit: 'A ceiling for this endpoint, held across processes. Null is none.',
  maxInFlight:
    'How many requests may be under way to it at once, in all processes together. Null is the application’s ceiling.',
  timeoutMs:
    'Milliseconds that one attempt may take, name look-up and answer included. Null is the application’s.',
};

const endpointExample: Endpoint = {
  id: EXAMPLE.endpointId,
  tenantId: 'acme',
  url: 'https://example.com/webhooks',
  description: 'Billing',
  status: 'active',
  pausedReason: null,
  pausedAt: null,
  types: ['invoice.*', 'order.created'],
  channels: null,
  filter: [{ dataPath: 'customer.plan', equals: 'pro' }],
  headers: { 'x-environment': 'production' },
  metadata: { owner: 'team-billing' },
  retry: null,
  rateLimit: { perSecond: 20, burst: 40 },
  maxInFlight: null,
  timeoutMs: null,
  createdAt: '2026-01-15T12:00:00.000Z',
  updatedAt: '2026-01-15T12:00:00.000Z',
};

export const endpoint = component(
  schemaOf<Endpoint>()(
    z.object({
      id: z.string().describe('`ep_…`. Opaque; ids sort by when they were made.'),
      tenantId: z.string().nullable().describe('Whose messages it gets. Null is a tenant like others.'),
      url: z.string().describe(settings.url),
      description: z.string().nullable().describe(settings.description),
      status: z
        .enum(['active', 'paused'])
        .describe(
          '`paused`: what it is owed is held until it is enabled, the message expires or the endpoint is deleted.',
        ),
      pausedReason: z
        .enum(['manual', 'failing', 'gone'])
        .nullable()
        .describe(
          '`manual`: it was disabled; `failing`: every attempt failed for days; `gone`: the receiver answered 410.',
        ),
      pausedAt: time.nullable().describe('Since when it is paused.'),
      types: z.array(z.string()).nullable().describe(settings.types),
      channels: z.array(z.string()).nullable().describe(settings.channels),
      filter: filter.nullable().describe(settings.filter),
      headers: z.record(z.string(), z.string()).describe(settings.headers),
      metadata: freeForm.describe(settings.metadata),
      retry: retry.nullable().describe(settings.retry),
      rateLimit: rateLimit.nullable().describe(settings.rateLimit),
      maxInFlight: z.int().nullable().describe(settings.maxInFlight),
      timeoutMs: z.int().nullable().describe(settings.timeoutMs),
      createdAt: time.describe('When it was made.'),
      updatedAt: time.describe('When it was last changed, paused or enabled.'),
    }),
  ),
  {
    id: 'Endpoint',
    description: 'Where messages go. The signing secret is not part of the record.',
    examples: [endpointExample],
  },
);

const withSecret = z.object({
  secret: z
    .string()
    .describe(
      'What its messages are signed with: `whsec_…` (HMAC-SHA256) or `whsk_…` (ed25519). Keep it safe.',
    ),
});

export const endpointWithSecret = component(
  schemaOf<EndpointWithSecret>()(z.intersection(endpoint, withSecret)),
  {
    id: 'EndpointWithSecret',
    description: 'The endpoint, and its signing secret.',
    examples: [{ ...endpointExample, secret: EXAMPLE.secret }],
  },
);

export const rotatedEndpoint = component(
  schemaOf<EndpointWithSecret & { previousSecretExpiresAt: string }>()(
    z.intersection(
      endpoint,
      withSecret.extend({
        previousSecretExpiresAt: time.describe('Until when the secret before signs too.'),
      }),
    ),
  ),
  {
    id: 'RotatedEndpoint',
    description: 'The endpoint, its new signing secret, and until when the one before signs beside it.',
    examples: [
      { ...endpointExample, secret: EXAMPLE.secret, previousSecretExpiresAt: '2026-01-16T12:00:00.000Z' },
    ],
  },
);

export const endpointSecrets = component(
  schemaOf<EndpointSecrets>()(
    z.object({
      secret: z.string().describe('The current one.'),
      previousSecrets: z
        .array(
          z.object({
            secret: z.string().describe('The secret.'),
            expiresAt: time.describe('Until when it signs.'),
          }),
        )
        .describe('Those that were rotated out and still sign beside it, newest first.'),
    }),
  ),
  {
    id: 'EndpointSecrets',
    description: 'The secrets that sign at this moment.',
    examples: [{ secret: EXAMPLE.secret, previousSecrets: [] }],
  },
);

export const endpointPage = component(
  schemaOf<{ endpoints: Endpoint[]; nextCursor: string | null }>()(
    z.object({ endpoints: z.array(endpoint).describe('Newest first.'), nextCursor }),
  ),
  { id: 'EndpointPage', description: 'A page of endpoints.' },
);

component(endpointCreate, {
  id: 'EndpointCreate',
  description:
    'A new endpoint. Only `url` is required; null stands for the default. Unknown fields are refused, `filterFn` and `transform` too: those are code, and are set in the application.',
  fields: {
    ...settings,
    tenantId:
      'Whose messages it gets; it cannot be changed later. A caller that is bound to a tenant leaves it out.',
    secret:
      'A signing secret that the receiver has already: `whsec_` and the base64 of 24 to 64 bytes, or `whsk_` and that of an ed25519 key. One is made when it is absent.',
  },
  examples: [
    { url: 'https://example.com/webhooks', types: ['order.*'] },
    {
      url: 'https://example.com/webhooks',
      tenantId: 'acme',
      types: ['invoice.*', 'order.created'],
      filter: [{ dataPath: 'customer.plan', equals: 'pro' }],
      headers: { 'x-environment': 'production' },
      retry: { delaysSeconds: [5, 300, 3600] },
      rateLimit: { perSecond: 20, burst: 40 },
      timeoutMs: 10_000,
    },
  ],
});
component(endpointUpdate, {
  id: 'EndpointUpdate',
  description:
    'The fields to change. An absent one stays as it is, null clears it. `tenantId` cannot be changed, and the secret only by rotation.',
  fields: settings,
  examples: [{ url: 'https://example.com/webhooks/v2', description: null }],
});
component(secretRotation, {
  id: 'SecretRotation',
  description: 'How to rotate the signing secret.',
  fields: {
    secret: 'The new secret. One is made when it is absent.',
    overlapSeconds: 'How long the secrets before keep signing beside the new one; 0 revokes them at once.',
  },
  examples: [{ overlapSeconds: 3600 }],
});
