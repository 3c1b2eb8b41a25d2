// Every route of the control plane, and what a hand-written route does for it: the same call of the sender.
import { openApiDocument } from 'hookplane';
import { bigEndpoint } from '../size-fill.mjs';

const ok = (body) => [200, body];
const HOUR = 3_600_000;
/** What callers send. */
export const TOKEN = 'bench-0123456789';
const OPENAPI = JSON.stringify(openApiDocument());

/**
 * Of all routes but `endpoints.test`, whose time is the receiver's. What `:id` is: something that the filled store has, or
 * a thing that is made anew for each request, which uses it up. `plain` answers status and body.
 */
export const ROUTES = {
  'endpoints.list': {
    method: 'GET',
    path: '/endpoints?limit=10',
    plain: async (s) => ok(await s.endpoints.list({ limit: 10 })),
  },
  'endpoints.create': {
    method: 'POST',
    path: '/endpoints',
    body: { url: 'https://receiver.example.com/hooks', types: ['order.*'] },
    plain: async (s, { body }) => [201, await s.endpoints.create(body)],
  },
  'endpoints.get': {
    method: 'GET',
    path: '/endpoints/:id',
    plain: async (s, { id }) => ok(await s.endpoints.get(id)),
  },
  'endpoints.update': {
    method: 'PATCH',
    path: '/endpoints/:id',
    body: { description: 'changed' },
    plain: async (s, { id, body }) => ok(await s.endpoints.update(id, body)),
  },
  'endpoints.delete': {
    method: 'DELETE',
    path: '/endpoints/:id',
    id: 'endpoint',
    plain: async (s, { id }) => [204, void (await s.endpoints.delete(id))],
  },
  'endpoints.disable': {
    method: 'POST',
    path: '/endpoints/:id/disable',
    id: 'endpoint',
    plain: async (s, { id }) => ok(await s.endpoints.disable(id)),
  },
  'endpoints.enable': {
    method: 'POST',
    path: '/endpoints/:id/enable',
    id: 'paused',
    plain: async (s, { id }) => ok(await s.endpoints.enable(id)),
  },
  'endpoints.rotateSecret': {
    method: 'POST',
    path: '/endpoints/:id/rotate-secret',
    body: {},
    id: 'endpoint',
    plain: async (s, { id, body }) => ok(await s.endpoints.rotateSecret(id, body)),
  },
  'endpoints.secret': {
    method: 'GET',
    path: '/endpoints/:id/secret',
    plain: async (s, { id }) => ok(await s.endpoints.secret(id)),
  },
  'endpoints.attempts': {
    method: 'GET',
    path: '/endpoints/:id/attempts?limit=10',
    plain: async (s, { id }) => ok(await s.endpoints.attempts(id, { limit: 10 })),
  },
  'endpoints.stats': {
    method: 'GET',
    path: '/endpoints/:id/stats',
    plain: async (s, { id }) => ok(await s.endpoints.stats(id, {})),
  },
  replay: {
    method: 'POST',
    path: '/replay',
    body: ({ messageId }) => ({ messageId, dryRun: true }),
    plain: async (s, { body }) => ok(await s.replay(body)),
  },
  reconcile: {
    method: 'POST',
    path: '/reconcile',
    body: ({ last }) => ({
      endpointId: bigEndpoint,
      since: new Date(last - HOUR).toISOString(),
      limit: 10,
    }),
    plain: async (s, { body }) => ok(await s.reconcile(body)),
  },
  'tenants.setRateLimit': {
    method: 'POST',
    path: '/tenants/:id/rate-limit',
    id: 'tenant',
    body: { perSecond: 50 },
    plain: async (s, { id, body }) => ok(await s.tenants.setRateLimit(id, body)),
  },
  'tenants.delete': {
    method: 'DELETE',
    path: '/tenants/:id',
    id: 'tenant',
    plain: async (s, { id }) => [204, void (await s.tenants.delete(id))],
  },
  'tenants.list': {
    method: 'GET',
    path: '/tenants?limit=10',
    plain: async (s) => ok(await s.tenants.list({ limit: 10 })),
  },
  'tenants.get': {
    method: 'GET',
    path: '/tenants/:id',
    id: 'known tenant',
    plain: async (s, { id }) => ok(await s.tenants.get(id)),
  },
  'keys.generateSymmetric': {
    method: 'POST',
    path: '/keys/symmetric',
    plain: async (s) => [201, s.keys.generateSymmetric()],
  },
  'keys.generateAsymmetric': {
    method: 'POST',
    path: '/keys/asymmetric',
    plain: async (s) => [201, s.keys.generateAsymmetric()],
  },
  'messages.list': {
    method: 'GET',
    path: '/messages?limit=10',
    plain: async (s) => ok(await s.messages.list({ limit: 10 })),
  },
  'messages.get': {
    method: 'GET',
    path: '/messages/:id',
    id: 'stored',
    plain: async (s, { id }) => ok(await s.messages.get(id)),
  },
  'messages.attempts': {
    method: 'GET',
    path: '/messages/:id/attempts',
    id: 'stored',
    plain: async (s, { id }) => ok(await s.messages.attempts(id, {})),
  },
  send: {
    method: 'POST',
    path: '/messages',
    body: { type: 'type.3', tenantId: 'tenant_mid', data: { text: 'x'.repeat(300) } },
    plain: async (s, { body }) => [202, await s.send(body)],
  },
  'messages.expungePayload': {
    method: 'DELETE',
    path: '/messages/:id/payload',
    id: 'message',
    plain: async (s, { id }) => [204, void (await s.messages.expungePayload(id))],
  },
  health: { method: 'GET', path: '/health', plain: async (s) => ok(await s.health()) },
  'audit.list': {
    method: 'GET',
    path: '/audit?limit=10',
    plain: async (s) => ok(await s.audit.list({ limit: 10 })),
  },
  caller: {
    method: 'GET',
    path: '/caller',
    plain: async () => ok({ tenantId: null, actor: null, readOnly: false }),
  },
  'metrics.get': { method: 'GET', path: '/metrics', plain: async (s) => [200, await s.metrics()] },
  'openapi.get': { method: 'GET', path: '/openapi.json', plain: async () => [200, OPENAPI] },
  stats: { method: 'GET', path: '/stats', plain: async (s) => ok(await s.stats({})) },
};
