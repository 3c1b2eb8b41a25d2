import type { Route } from '../route.js';
import { asymmetricKey, symmetricKey } from '../schemas/keys.js';

export const generateSymmetricKey: Route = {
  operation: 'keys.generateSymmetric',
  method: 'POST',
  path: '/keys/symmetric',
  summary: 'Make a symmetric signing key',
  answers: { 201: symmetricKey },
  errors: [],
  storeless: true,
  run: async ({ scope }) => ({ status: 201, body: scope.keys.generateSymmetric() }),
};

export const generateAsymmetricKey: Route = {
  operation: 'keys.generateAsymmetric',
  method: 'POST',
  path: '/keys/asymmetric',
  summary: 'Make a pair of signing keys',
  answers: { 201: asymmetricKey },
  errors: [],
  storeless: true,
  run: async ({ scope }) => ({ status: 201, body: scope.keys.generateAsymmetric() }),
};
