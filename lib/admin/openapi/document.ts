import type { AdminErrorCode } from '../../model/errors.js';
import { PACKAGE_VERSION } from '../../model/version.js';
import { ROUTES } from '../routes.js';
import { errorCodes, errorExamples } from './errors.js';
import { componentSchemas, type JsonSchema } from './json-schema.js';
import { errorResponses, operationOf, templated } from './operation.js';
import { deliveredWebhook } from './webhook.js';

/** An OpenAPI 3.1 document, as far as its shape matters to who reads it in code. */
export interface OpenApiDocument {
  openapi: string;
  info: { title: string; version: string; description: string };
  servers: { url: string }[];
  security: Record<string, string[]>[];
  tags: { name: string; description: string }[];
  /** By path and, in small letters, method. */
  paths: Record<string, Record<string, Record<string, unknown>>>;
  webhooks: Record<string, Record<string, Record<string, unknown>>>;
  components: Record<string, Record<string, Record<string, unknown>>>;
}

export interface OpenApiOptions {
  /** Where the control plane is mounted: `/admin`, or the whole URL. @default '/' */
  serverUrl?: string | undefined;
  /** @default 'hookplane control plane' */
  title?: string | undefined;
  /** The version of the document. @default the version of this package */
  version?: string | undefined;
}

const DESCRIPTION = `Manages where webhooks are delivered to, and shows what became of them.

**Who may enter** is decided by the application that this control plane is mounted in, for each request; the security schemes below are the usual ones. A caller may be bound to one tenant: to it, other tenants do not exist. Their ids answer 404 on every route, and lists leave them out; only the two writes on \`/tenants/{id}\` answer 403.

**Bodies** are JSON objects, sent as \`application/json\`. Unknown fields and unknown query parameters are errors, so that no misspelled one goes unnoticed. Answers may gain fields: ignore those you do not know.

**Errors** are \`{ errorCode, error }\`; the \`…_VALIDATION\` codes add \`issues\`, which names every wrong field, and a 5xx adds a \`requestId\`. A path that there is not is 404 \`ROUTE_NOT_FOUND\`; a method that a path does not have is 405 \`METHOD_NOT_ALLOWED\`, and \`Allow\` names those it has.

**Lists** are pages of \`limit\` rows. Pass \`nextCursor\` back as \`cursor\`, with the same filters, until it is null. A full walk answers each row that was there throughout exactly once.

**Times** are answered as ISO 8601 in UTC with milliseconds. They are taken as RFC 3339 with an offset (write \`+\` as \`%2B\` in a query), or as a date, which means midnight UTC.

\`HEAD\` works wherever \`GET\` does, and a trailing slash is accepted.`;

const TAGS = [
  { name: 'endpoints', description: 'Where messages go.' },
  { name: 'replay', description: 'Sending again, and finding out what is missing.' },
  { name: 'tenants', description: 'The customers of the application.' },
  { name: 'keys', description: 'Signing keys. They are made and answered, not stored.' },
  { name: 'messages', description: 'What was sent, and what became of it.' },
  { name: 'audit', description: 'Who changed what.' },
  { name: 'service', description: 'The control plane itself.' },
  { name: 'webhook', description: 'What endpoints receive.' },
];

const SECURITY_SCHEMES = {
  bearer: {
    type: 'http',
    scheme: 'bearer',
    description: 'A token of the application’s, where it uses tokens.',
  },
  cookie: {
    type: 'apiKey',
    in: 'cookie',
    name: 'session',
    description:
      'The session of the application’s, where it uses cookies; the name of the cookie is the application’s too.',
  },
};

/**
 * Describes the control plane in OpenAPI 3.1: every route, and under `webhooks` the request that endpoints receive.
 * It is made of the table of routes and of the schemas that requests are checked by. The control plane answers the
 * same document at `GET /openapi.json`.
 */
export function openApiDocument(options: OpenApiOptions = {}): OpenApiDocument {
  const { serverUrl = '/', title = 'hookplane control plane', version = PACKAGE_VERSION } = options;
  const readable = new Set(ROUTES.filter(({ method }) => method === 'GET').map(({ path }) => path));
  const paths: OpenApiDocument['paths'] = {};
  for (const route of ROUTES) {
    const path = templated(route.path);
    const location = route.method === 'POST' && readable.has(`${route.path}/:id`);
    paths[path] = { ...paths[path], [route.method.toLowerCase()]: operationOf(route, location) };
  }
  const used = new Set<AdminErrorCode>(ROUTES.flatMap((route) => [...errorCodes(route).values()].flat()));
  return {
    openapi: '3.1.0',
    info: { title, version, description: DESCRIPTION },
    servers: [{ url: serverUrl }],
    security: [{ bearer: [] }, { cookie: [] }],
    tags: TAGS,
    paths,
    webhooks: { message: deliveredWebhook() as Record<string, JsonSchema> },
    components: {
      schemas: componentSchemas(),
      responses: errorResponses(ROUTES),
      examples: errorExamples(used) as Record<string, JsonSchema>,
      securitySchemes: SECURITY_SCHEMES,
    },
  };
}

/** Writes the document for a mount. What is remembered is the document, and its text for the mount that asked last. */
export function openApiWriter(): (mount: string) => string {
  let document: OpenApiDocument | undefined;
  let last: { mount: string; text: string } | undefined;
  return (mount) => {
    if (last?.mount === mount) return last.text;
    document ??= openApiDocument();
    const text = JSON.stringify({ ...document, servers: [{ url: mount || '/' }] });
    last = { mount, text };
    return text;
  };
}
