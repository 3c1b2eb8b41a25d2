import type { Route } from '../route.js';

export const generateSymmetricKey: Route = {
  operation: 'keys.generateSymmetric',
  method: 'POST',
  path: '/keys/symmetric',
  run: async ({ scope }) => ({ status: 201, body: scope.keys.generateSymmetric() }),
};

export const generateAsymmetricKey: Route = {
  operation: 'keys.generateAsymmetric',
  method: 'POST',
  path: '/keys/asymmetric',
  run: async ({ scope }) => ({ status: 201, body: scope.keys.generateAsymmetric() }),
};
