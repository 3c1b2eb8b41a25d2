import type { Route } from './route.js';
import {
  createEndpoint,
  deleteEndpoint,
  disableEndpoint,
  enableEndpoint,
  getEndpoint,
  listEndpoints,
  rotateSecret,
  updateEndpoint,
} from './routes/endpoints.js';
import { getHealth } from './routes/health.js';
import { generateAsymmetricKey, generateSymmetricKey } from './routes/keys.js';
import { getMessage, listAttempts, listMessages } from './routes/messages.js';
import { reconcile, replay } from './routes/replay.js';
import { deleteTenant, getTenant, listTenants, setTenantRateLimit } from './routes/tenants.js';

/** Every route of the control plane, in the order of the spec (§4). */
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
];
