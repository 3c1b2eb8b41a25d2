import type { z } from 'zod';
import type { SenderScope } from '../model/scope.js';

export type Method = 'GET' | 'POST' | 'PATCH' | 'DELETE';

/** A query parameter: how its text is read, and whether it may repeat or hold several values joined by commas. */
export interface QueryParameter {
  schema: z.ZodType<unknown, string>;
  many?: true;
}

/** What a route is run with: parsed, and the caller's scope in place of the caller. */
export interface RouteInput {
  scope: SenderScope;
  params: Record<string, string>;
  query: Record<string, unknown>;
  body: Record<string, unknown>;
}

export interface RouteResult {
  status: number;
  /** Written as JSON; absent is no body at all. */
  body?: unknown;
  /** The id of what was made, for the `Location` of a 201. */
  createdId?: string;
}

/** One row of the table: all that the control plane knows of a route. */
export interface Route {
  /** What `authorize` is told, and the name of the operation in the OpenAPI document. */
  operation: string;
  method: Method;
  /** `/endpoints/:id` */
  path: string;
  query?: Record<string, QueryParameter>;
  /** `none` takes an empty body or `{}`. Default for a POST: `none`. */
  body?: 'required' | 'optional' | 'none';
  /** A refusal that comes before the body is looked at. */
  before?(input: Pick<RouteInput, 'scope' | 'params'>): void;
  run(input: RouteInput): Promise<RouteResult>;
}
