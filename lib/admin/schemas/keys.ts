import { z } from 'zod';
import type { KeyOperations } from '../../model/scope.js';
import { component, EXAMPLE, schemaOf } from './component.js';

export const symmetricKey = component(
  schemaOf<ReturnType<KeyOperations['generateSymmetric']>>()(
    z.object({ secret: z.string().describe('`whsec_` and the base64 of 32 random bytes.') }),
  ),
  {
    id: 'SymmetricKey',
    description: 'A secret that signs with HMAC-SHA256, and that receivers verify with.',
    examples: [{ secret: EXAMPLE.secret }],
  },
);

export const asymmetricKey = component(
  schemaOf<ReturnType<KeyOperations['generateAsymmetric']>>()(
    z.object({
      privateKey: z.string().describe('`whsk_…`: give it to an endpoint as its `secret`.'),
      publicKey: z.string().describe('`whpk_…`: give it to the receiver, which verifies with it.'),
    }),
  ),
  { id: 'AsymmetricKey', description: 'An ed25519 pair: one half signs, the other verifies.' },
);
