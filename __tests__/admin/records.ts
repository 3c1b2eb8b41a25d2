import { anId } from './expectations.js';
import { START_ISO } from './plane.js';

const TTL_MS = 30 * 86_400_000;

/** The record of an endpoint that was made with nothing but a URL, and what a test says otherwise. */
export function anEndpoint(fields: Record<string, unknown> = {}): Record<string, unknown> {
  return {
    id: anId('ep'),
    tenantId: null,
    url: 'https://example.com/hook',
    description: null,
    status: 'active',
    pausedReason: null,
    pausedAt: null,
    types: null,
    channels: null,
    filter: null,
    headers: {},
    metadata: {},
    retry: null,
    rateLimit: null,
    maxInFlight: null,
    timeoutMs: null,
    createdAt: START_ISO,
    updatedAt: START_ISO,
    ...fields,
  };
}

/** The record of a message as a list shows it. */
export function aMessage(fields: Record<string, unknown> = {}): Record<string, unknown> {
  return {
    id: anId('msg'),
    tenantId: null,
    type: 'invoice.paid',
    channels: null,
    status: 'unrouted',
    idempotencyKey: null,
    createdAt: START_ISO,
    expiresAt: new Date(Date.parse(START_ISO) + TTL_MS).toISOString(),
    ...fields,
  };
}

export function aTenant(id: string, fields: Record<string, unknown> = {}): Record<string, unknown> {
  return { id, rateLimit: null, metadata: {}, createdAt: START_ISO, updatedAt: START_ISO, ...fields };
}
