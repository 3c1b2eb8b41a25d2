import {
  ENDPOINT_STATUSES,
  type EndpointCreate,
  type EndpointUpdate,
  type SecretRotation,
} from '../../model/endpoint.js';
import { oneOf, pageQuery, tenantQuery } from '../input.js';
import type { Route } from '../route.js';

export const listEndpoints: Route = {
  operation: 'endpoints.list',
  method: 'GET',
  path: '/endpoints',
  query: { ...pageQuery, ...tenantQuery, status: { schema: oneOf(ENDPOINT_STATUSES) } },
  run: async ({ scope, query }) => ({ status: 200, body: await scope.endpoints.list(query) }),
};

export const createEndpoint: Route = {
  operation: 'endpoints.create',
  method: 'POST',
  path: '/endpoints',
  body: 'required',
  async run({ scope, body }) {
    const endpoint = await scope.endpoints.create(body as unknown as EndpointCreate);
    return { status: 201, body: endpoint, createdId: endpoint.id };
  },
};

export const getEndpoint: Route = {
  operation: 'endpoints.get',
  method: 'GET',
  path: '/endpoints/:id',
  run: async ({ scope, params }) => ({ status: 200, body: await scope.endpoints.get(params.id!) }),
};

export const updateEndpoint: Route = {
  operation: 'endpoints.update',
  method: 'PATCH',
  path: '/endpoints/:id',
  body: 'required',
  run: async ({ scope, params, body }) => ({
    status: 200,
    body: await scope.endpoints.update(params.id!, body as EndpointUpdate),
  }),
};

export const deleteEndpoint: Route = {
  operation: 'endpoints.delete',
  method: 'DELETE',
  path: '/endpoints/:id',
  async run({ scope, params }) {
    await scope.endpoints.delete(params.id!);
    return { status: 204 };
  },
};

export const disableEndpoint: Route = {
  operation: 'endpoints.disable',
  method: 'POST',
  path: '/endpoints/:id/disable',
  run: async ({ scope, params }) => ({ status: 200, body: await scope.endpoints.disable(params.id!) }),
};

export const enableEndpoint: Route = {
  operation: 'endpoints.enable',
  method: 'POST',
  path: '/endpoints/:id/enable',
  run: async ({ scope, params }) => ({ status: 200, body: await scope.endpoints.enable(params.id!) }),
};

export const rotateSecret: Route = {
  operation: 'endpoints.rotateSecret',
  method: 'POST',
  path: '/endpoints/:id/rotate-secret',
  body: 'optional',
  run: async ({ scope, params, body }) => ({
    status: 200,
    body: await scope.endpoints.rotateSecret(params.id!, body as SecretRotation),
  }),
};
