import type { z } from 'zod';
import type { HeaderParameter, QueryParameter, Route } from '../route.js';
import { components, EXAMPLE } from '../schemas/component.js';
import { errorCodes, errorResponse, JSON_TYPE, responseName } from './errors.js';
import { type JsonSchema, schemaFor } from './json-schema.js';

/** What a path names, by the segment before it. */
const IDS: Readonly<Record<string, { description: string; example: string }>> = {
  endpoints: { description: 'The id of the endpoint.', example: EXAMPLE.endpointId },
  messages: { description: 'The id of the message.', example: EXAMPLE.messageId },
  tenants: { description: 'The id of the tenant, percent-encoded.', example: 'acme' },
};

/** The path as OpenAPI writes it: `/endpoints/{id}`. */
export function templated(path: string): string {
  return path.replace(/:(\w+)/g, '{$1}');
}

/** @param location whether a success says where what was made can be read */
export function operationOf(route: Route, location: boolean): JsonSchema {
  const { operation, summary, description, tag = operation.split('.')[0], query = {} } = route;
  const parameters = [
    ...pathParameters(route.path),
    ...Object.entries(query).map(([name, parameter]) => queryParameter(name, parameter)),
    ...Object.entries(route.headers ?? {}).map(([name, parameter]) => headerParameter(name, parameter)),
  ];
  return {
    operationId: operation,
    tags: [tag],
    summary,
    ...(description !== undefined && { description }),
    ...(parameters.length > 0 && { parameters }),
    ...(route.input && { requestBody: requestBody(route, route.input) }),
    responses: { ...successes(route, location), ...failures(route) },
  };
}

function pathParameters(path: string): JsonSchema[] {
  const segments = path.split('/');
  return segments.flatMap((segment, index) => {
    if (!segment.startsWith(':')) return [];
    const about = IDS[segments[index - 1]!];
    return [{ name: segment.slice(1), in: 'path', required: true, ...about, schema: { type: 'string' } }];
  });
}

function queryParameter(name: string, { schema, shownAs, many, description }: QueryParameter): JsonSchema {
  const shown = schemaFor(shownAs ?? schema);
  return {
    name,
    in: 'query',
    description: many ? `${description} May repeat, or hold several values joined by commas.` : description,
    schema: many ? { type: 'array', items: shown } : shown,
  };
}

function headerParameter(name: string, { schema, description }: HeaderParameter): JsonSchema {
  return { name, in: 'header', description, schema: schemaFor(schema) };
}

function requestBody(route: Route, input: z.ZodType): JsonSchema {
  return {
    required: route.body === 'required',
    content: { [JSON_TYPE]: { schema: schemaFor(input) } },
  };
}

function successes(route: Route, location: boolean): JsonSchema {
  const { answers, mediaType = JSON_TYPE } = route;
  return Object.fromEntries(
    Object.entries(answers).map(([status, schema]) => {
      const description = schema ? (components.get(schema)?.description ?? schema.description) : 'Done.';
      const content = schema && { [mediaType]: { schema: schemaFor(schema) } };
      const headers = location ? { Location: LOCATION } : undefined;
      return [status, { description, ...(headers && { headers }), ...(content && { content }) }];
    }),
  );
}

const LOCATION: JsonSchema = {
  description: 'Where it can be read; may be relative to the URL of the request.',
  required: true,
  schema: { type: 'string' },
};

function failures(route: Route): JsonSchema {
  return Object.fromEntries(
    [...errorCodes(route)].map(([status, codes]) => [
      status,
      { $ref: `#/components/responses/${responseName(codes)}` },
    ]),
  );
}

/** The error responses of the routes, each set of codes once. */
export function errorResponses(routes: readonly Route[]): Record<string, JsonSchema> {
  const responses: Record<string, JsonSchema> = {};
  for (const [status, codes] of routes.flatMap((route) => [...errorCodes(route)])) {
    responses[responseName(codes)] ??= errorResponse(status, codes);
  }
  return responses;
}
