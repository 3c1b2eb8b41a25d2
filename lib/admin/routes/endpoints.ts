import {
  ENDPOINT_STATUSES,
  type EndpointCreate,
  endpointCreate,
  type EndpointUpdate,
  endpointUpdate,
  type SecretRotation,
  secretRotation,
} from '../../model/endpoint.js';
import { type TestInput, testInput } from '../../model/message.js';
import {
  attemptQuery,
  oneOf,
  pageQuery,
  rangeQuery,
  readAttemptStatus,
  statsQuery,
  tenantQuery,
} from '../input.js';
import type { Route } from '../route.js';
import {
  endpoint,
  endpointPage,
  endpointSecrets,
  endpointWithSecret,
  rotatedEndpoint,
} from '../schemas/endpoint.js';
import { attempt, attemptPage } from '../schemas/message.js';
import { endpointStats } from '../schemas/stats.js';

export const listEndpoints: Route = {
  operation: 'endpoints.list',
  method: 'GET',
  path: '/endpoints',
  summary: 'List endpoints',
  answers: { 200: endpointPage },
  errors: [],
  query: {
    ...pageQuery,
    ...tenantQuery,
    status: { schema: oneOf(ENDPOINT_STATUSES), description: 'Only endpoints in this state.' },
  },
  run: async ({ scope, query }) => ({ status: 200, body: await scope.endpoints.list(query) }),
};

export const createEndpoint: Route = {
  operation: 'endpoints.create',
  method: 'POST',
  path: '/endpoints',
  summary: 'Create an endpoint',
  description:
    'The answer holds its signing secret. The URL is checked as it is at each delivery, except that names are not resolved yet.',
  answers: { 201: endpointWithSecret },
  errors: ['ENDPOINT_VALIDATION'],
  body: 'required',
  input: endpointCreate,
  async run({ scope, body }) {
    const created = await scope.endpoints.create(body as unknown as EndpointCreate);
    return { status: 201, body: created, createdId: created.id };
  },
};

export const getEndpoint: Route = {
  operation: 'endpoints.get',
  method: 'GET',
  path: '/endpoints/:id',
  summary: 'Read an endpoint',
  answers: { 200: endpoint },
  errors: ['ENDPOINT_NOT_FOUND'],
  run: async ({ scope, params }) => ({ status: 200, body: await scope.endpoints.get(params.id!) }),
};

export const updateEndpoint: Route = {
  operation: 'endpoints.update',
  method: 'PATCH',
  path: '/endpoints/:id',
  summary: 'Change an endpoint',
  description: 'Changes hold from the next attempt on, in every process; for what is owed already too.',
  answers: { 200: endpoint },
  errors: ['ENDPOINT_NOT_FOUND', 'ENDPOINT_VALIDATION'],
  body: 'required',
  input: endpointUpdate,
  run: async ({ scope, params, body }) => ({
    status: 200,
    body: await scope.endpoints.update(params.id!, body as EndpointUpdate),
  }),
};

export const deleteEndpoint: Route = {
  operation: 'endpoints.delete',
  method: 'DELETE',
  path: '/endpoints/:id',
  summary: 'Delete an endpoint',
  description:
    'What it is still owed is canceled. The history of messages that were sent to it stays readable.',
  answers: { 204: null },
  errors: ['ENDPOINT_NOT_FOUND'],
  async run({ scope, params }) {
    await scope.endpoints.delete(params.id!);
    return { status: 204 };
  },
};

export const disableEndpoint: Route = {
  operation: 'endpoints.disable',
  method: 'POST',
  path: '/endpoints/:id/disable',
  summary: 'Pause an endpoint',
  description:
    'What it is owed is held, not dropped, until it is enabled, the message expires or the endpoint is deleted. Again, it changes nothing.',
  answers: { 200: endpoint },
  errors: ['ENDPOINT_NOT_FOUND'],
  run: async ({ scope, params }) => ({ status: 200, body: await scope.endpoints.disable(params.id!) }),
};

export const enableEndpoint: Route = {
  operation: 'endpoints.enable',
  method: 'POST',
  path: '/endpoints/:id/enable',
  summary: 'Enable an endpoint',
  description:
    'Ends a pause of any reason, and forgets how long it has failed. What was held flows again, within the limits of the endpoint.',
  answers: { 200: endpoint },
  errors: ['ENDPOINT_NOT_FOUND'],
  run: async ({ scope, params }) => ({ status: 200, body: await scope.endpoints.enable(params.id!) }),
};

export const rotateSecret: Route = {
  operation: 'endpoints.rotateSecret',
  method: 'POST',
  path: '/endpoints/:id/rotate-secret',
  summary: 'Rotate the signing secret',
  description:
    'The answer holds the new secret. Until the overlap ends every request carries a signature by each secret, so that the receiver may change at its leisure. At most ten secrets sign at a time.',
  answers: { 200: rotatedEndpoint },
  errors: ['ENDPOINT_NOT_FOUND', 'ENDPOINT_VALIDATION', 'SECRET_SEALED'],
  body: 'optional',
  input: secretRotation,
  run: async ({ scope, params, body }) => ({
    status: 200,
    body: await scope.endpoints.rotateSecret(params.id!, body as SecretRotation),
  }),
};

export const getSecret: Route = {
  operation: 'endpoints.secret',
  method: 'GET',
  path: '/endpoints/:id/secret',
  summary: 'Read the signing secrets',
  description: 'Refused to callers that may only read. The audit log says who has read them.',
  answers: { 200: endpointSecrets },
  errors: ['ENDPOINT_NOT_FOUND', 'SECRET_SEALED'],
  revealsSecret: true,
  run: async ({ scope, params }) => ({ status: 200, body: await scope.endpoints.secret(params.id!) }),
};

export const testEndpoint: Route = {
  operation: 'endpoints.test',
  method: 'POST',
  path: '/endpoints/:id/test',
  summary: 'Send a test',
  description:
    'Sends a signed event now, whatever the filters of the endpoint say, and answers with the attempt. It is not stored and not retried, and a failure of it has no consequences: an attempt that failed is a 200 too.',
  answers: { 200: attempt },
  errors: ['ENDPOINT_NOT_FOUND', 'ENDPOINT_DISABLED', 'MESSAGE_VALIDATION'],
  body: 'optional',
  input: testInput,
  run: async ({ scope, params, body }) => ({
    status: 200,
    body: await scope.endpoints.test(params.id!, body as TestInput),
  }),
};

export const listEndpointAttempts: Route = {
  operation: 'endpoints.attempts',
  method: 'GET',
  path: '/endpoints/:id/attempts',
  summary: 'List the attempts to an endpoint',
  description: 'Newest first. `since` and `until` are about when an attempt began.',
  answers: { 200: attemptPage },
  errors: ['ENDPOINT_NOT_FOUND'],
  query: { ...pageQuery, ...attemptQuery, ...rangeQuery },
  run: async ({ scope, params, query }) => ({
    status: 200,
    body: await scope.endpoints.attempts(params.id!, readAttemptStatus(query)),
  }),
};

export const getEndpointStats: Route = {
  operation: 'endpoints.stats',
  method: 'GET',
  path: '/endpoints/:id/stats',
  summary: 'Read how an endpoint answers',
  description:
    'Counts attempts by the time they began. Default: the last 60 minutes, 24 hours or 30 days. A range may be a day of minutes, or 31 days.',
  answers: { 200: endpointStats },
  errors: ['ENDPOINT_NOT_FOUND'],
  query: { ...rangeQuery, ...statsQuery },
  run: async ({ scope, params, query }) => ({
    status: 200,
    body: await scope.endpoints.stats(params.id!, query),
  }),
};
