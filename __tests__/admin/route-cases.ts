import { ROUTES } from '../../lib/admin/routes.js';
import type { PlantedTenant } from './planted.js';

/** The ids that a request names. */
export type Target = Pick<PlantedTenant, 'tenantId' | 'endpointId' | 'messageId'>;

export interface RouteRequest {
  /** `GET /endpoints/ep_1` */
  route: string;
  json?: unknown;
}

const SINCE = '2026-01-01T00:00:00Z';

/** A request of each route that is right in itself, about what a tenant has. */
export const REQUESTS: Record<string, (target: Target) => RouteRequest> = {
  'endpoints.list': () => ({ route: 'GET /endpoints' }),
  'endpoints.create': ({ tenantId }) => ({
    route: 'POST /endpoints',
    json: { url: 'https://example.com/hook', tenantId },
  }),
  'endpoints.get': ({ endpointId }) => ({ route: `GET /endpoints/${endpointId}` }),
  'endpoints.update': ({ endpointId }) => ({
    route: `PATCH /endpoints/${endpointId}`,
    json: { description: 'changed' },
  }),
  'endpoints.delete': ({ endpointId }) => ({ route: `DELETE /endpoints/${endpointId}` }),
  'endpoints.disable': ({ endpointId }) => ({ route: `POST /endpoints/${endpointId}/disable` }),
  'endpoints.enable': ({ endpointId }) => ({ route: `POST /endpoints/${endpointId}/enable` }),
  'endpoints.rotateSecret': ({ endpointId }) => ({
    route: `POST /endpoints/${endpointId}/rotate-secret`,
    json: { overlapSeconds: 60 },
  }),
  replay: ({ messageId }) => ({ route: 'POST /replay', json: { messageId } }),
  reconcile: ({ endpointId }) => ({ route: 'POST /reconcile', json: { endpointId, since: SINCE } }),
  'tenants.setRateLimit': ({ tenantId }) => ({
    route: `POST /tenants/${encodeURIComponent(tenantId)}/rate-limit`,
    json: { perSecond: 50 },
  }),
  'tenants.delete': ({ tenantId }) => ({ route: `DELETE /tenants/${encodeURIComponent(tenantId)}` }),
  'tenants.list': () => ({ route: 'GET /tenants' }),
  'tenants.get': ({ tenantId }) => ({ route: `GET /tenants/${encodeURIComponent(tenantId)}` }),
  'keys.generateSymmetric': () => ({ route: 'POST /keys/symmetric' }),
  'keys.generateAsymmetric': () => ({ route: 'POST /keys/asymmetric' }),
  'messages.list': () => ({ route: 'GET /messages' }),
  'messages.get': ({ messageId }) => ({ route: `GET /messages/${messageId}` }),
  'messages.attempts': ({ messageId }) => ({ route: `GET /messages/${messageId}/attempts` }),
  health: () => ({ route: 'GET /health' }),
  'endpoints.attempts': ({ endpointId }) => ({ route: `GET /endpoints/${endpointId}/attempts` }),
  'endpoints.stats': ({ endpointId }) => ({ route: `GET /endpoints/${endpointId}/stats` }),
  'endpoints.secret': ({ endpointId }) => ({ route: `GET /endpoints/${endpointId}/secret` }),
  'endpoints.test': ({ endpointId }) => ({
    route: `POST /endpoints/${endpointId}/test`,
    json: { data: { some: 'text' } },
  }),
  send: ({ tenantId }) => ({
    route: 'POST /messages',
    json: { type: 'some.thing', data: { some: 'text' }, tenantId },
  }),
  'messages.expungePayload': ({ messageId }) => ({ route: `DELETE /messages/${messageId}/payload` }),
  stats: () => ({ route: 'GET /stats' }),
  caller: () => ({ route: 'GET /caller' }),
  'metrics.get': () => ({ route: 'GET /metrics' }),
  'audit.list': () => ({ route: 'GET /audit' }),
  'openapi.get': () => ({ route: 'GET /openapi.json' }),
};

/** The other ways in which a request can name what belongs to somebody. */
export const MORE_REQUESTS: Record<string, (target: Target) => RouteRequest> = {
  'endpoints.list by tenantId': ({ tenantId }) => ({
    route: `GET /endpoints?tenantId=${encodeURIComponent(tenantId)}`,
  }),
  'messages.list by tenantId': ({ tenantId }) => ({
    route: `GET /messages?tenantId=${encodeURIComponent(tenantId)}`,
  }),
  'messages.list by endpointId': ({ endpointId }) => ({ route: `GET /messages?endpointId=${endpointId}` }),
  'audit.list by tenantId': ({ tenantId }) => ({
    route: `GET /audit?tenantId=${encodeURIComponent(tenantId)}`,
  }),
  'stats by tenantId': ({ tenantId }) => ({
    route: `GET /stats?tenantId=${encodeURIComponent(tenantId)}`,
  }),
  'audit.list by targetId': ({ endpointId }) => ({ route: `GET /audit?targetId=${endpointId}` }),
  'replay of a range': ({ endpointId }) => ({ route: 'POST /replay', json: { endpointId, since: SINCE } }),
  'replay of a range, dry': ({ endpointId }) => ({
    route: 'POST /replay',
    json: { endpointId, since: SINCE, dryRun: true },
  }),
  'replay of a message to an endpoint': ({ messageId, endpointId }) => ({
    route: 'POST /replay',
    json: { messageId, endpointId },
  }),
  'replay of a message, dry': ({ messageId }) => ({
    route: 'POST /replay',
    json: { messageId, dryRun: true },
  }),
};

export const OPERATIONS = ROUTES.map(({ operation }) => operation);
