import { z } from 'zod';
import type { Route } from '../route.js';

export const getOpenApi: Route = {
  operation: 'openapi.get',
  method: 'GET',
  path: '/openapi.json',
  tag: 'service',
  summary: 'Read this document',
  answers: { 200: z.record(z.string(), z.unknown()).describe('An OpenAPI 3.1 document.') },
  errors: [],
  storeless: true,
  run: async ({ openApi }) => ({ status: 200, text: openApi() }),
};
