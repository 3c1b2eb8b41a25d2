import { EXAMPLE } from '../schemas/component.js';
import { payload } from '../schemas/message.js';
import { JSON_TYPE } from './errors.js';
import { type JsonSchema, schemaFor } from './json-schema.js';

const DESCRIPTION = `What every endpoint receives, signed by [Standard Webhooks](https://www.standardwebhooks.com) 1.0.0.

**Verify** it before anything else, over the bytes of the body as they came: what is signed is \`{webhook-id}.{webhook-timestamp}.{body}\`. For a \`v1\` signature it is HMAC-SHA256 with the bytes that the endpoint's secret holds in base64 after \`whsec_\`; for \`v1a\` it is ed25519, verified with the public key \`whpk_…\`. Refuse what was signed more than five minutes ago. In Node.js, \`verifySignature\` of the package hookplane does all of it; any library for Standard Webhooks does for \`v1\`.

**Leave out duplicates** by \`webhook-id\`: delivery is at least once, and a retry or a replay has the id of the first attempt. Messages may come in any order.

**Answer quickly**, with any 2xx status. Everything else is tried again later.`;

const HEADERS: readonly JsonSchema[] = [
  {
    name: 'webhook-id',
    description: 'The id of the message, the same at every attempt.',
    example: EXAMPLE.messageId,
  },
  {
    name: 'webhook-timestamp',
    description: 'When this attempt was signed: Unix time in seconds.',
    example: '1768478400',
  },
  {
    name: 'webhook-signature',
    description:
      'One signature for each secret in force, joined by spaces: `v1,` and base64 (HMAC-SHA256), or `v1a,` and base64 (ed25519). One that verifies is enough.',
    example: 'v1,0TUYZpg6jEwubWMh8wV+YzmWC4Y8wGHgCy6ySdZT0sg=',
  },
];

const RESPONSES: JsonSchema = {
  '2XX': { description: 'It is delivered. The body of the answer is kept for the record, up to 4 KiB.' },
  '3XX': { description: 'A failure: redirects are not followed. It is tried again later.' },
  '410': {
    description: 'A failure, and the endpoint is paused: nothing more is sent to it until it is enabled.',
  },
  '429': {
    description:
      'A failure. `Retry-After`, in seconds or as a date, puts the next attempt off; so it does on 502, 503 and 504.',
  },
  default: { description: 'A failure. It is tried again later.' },
};

/** The request that endpoints receive: the other half of what an engineer has to build. */
export function deliveredWebhook(): JsonSchema {
  return {
    post: {
      operationId: 'webhook.message',
      tags: ['webhook'],
      summary: 'A message is delivered',
      description: DESCRIPTION,
      security: [],
      parameters: HEADERS.map((header) => ({
        ...header,
        in: 'header',
        required: true,
        schema: { type: 'string' },
      })),
      requestBody: { required: true, content: { [JSON_TYPE]: { schema: schemaFor(payload) } } },
      responses: RESPONSES,
    },
  };
}
