import type { Route } from './route.js';
import { listAudit } from './routes/audit.js';
import { getCaller } from './routes/caller.js';
import {
  createEndpoint,
  deleteEndpoint,
  disableEndpoint,
  enableEndpoint,
  getEndpoint,
  getEndpointStats,
  getSecret,
  listEndpointAttempts,
  listEndpoints,
  rotateSecret,
  testEndpoint,
  updateEndpoint,
} from './routes/endpoints.js';
import { getHealth } from './routes/health.js';
import { generateAsymmetricKey, generateSymmetricKey } from './routes/keys.js';
import { expungePayload, getMessage, listAttempts, listMessages, sendMessage } from './routes/messages.js';
import { getMetrics } from './routes/metrics.js';
import { getOpenApi } from './routes/openapi.js';
import { reconcile, replay } from './routes/replay.js';
import { getStats } from './routes/stats.js';
import { deleteTenant, getTenant, listTenants, setTenantRateLimit } from './routes/tenants.js';

/** Every route of the control plane, in the order of the spec (§4); then those that it does not have. */
export const ROUTES: readonly Route[] = [
  listEndpoints,
  createEndpoint,
  getEndpoint,
  updateEndpoint,
  deleteEndpoint,
  disableEndpoint,
  enableEndpoint,
  rotateSecret,
  replay,
  reconcile,
  setTenantRateLimit,
  deleteTenant,
  listTenants,
  getTenant,
  generateSymmetricKey,
  generateAsymmetricKey,
  listMessages,
  getMessage,
  listAttempts,
  getHealth,
  listEndpointAttempts,
  getEndpointStats,
  getSecret,
  testEndpoint,
  sendMessage,
  expungePayload,
  listAudit,
  getStats,
  getCaller,
  getMetrics,
  getOpenApi,
];
