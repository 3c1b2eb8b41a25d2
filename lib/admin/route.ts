import type { z } from 'zod';
import type { AdminErrorCode } from '../model/errors.js';
import type { SenderScope } from '../model/scope.js';
import type { Caller } from './authorize.js';

export type Method = 'GET' | 'POST' | 'PATCH' | 'DELETE';

/** A query parameter: how its text is read, and whether it may repeat or hold several values joined by commas. */
export interface QueryParameter {
  schema: z.ZodType<unknown, string>;
  many?: true;
  /** For the OpenAPI document. */
  description: string;
  /** What its text stands for, where that is not a text: `z.int()`. */
  shownAs?: z.ZodType;
}

/** A request header: what its text has to be, which the operation checks. */
export interface HeaderParameter {
  schema: z.ZodType<unknown, string>;
  /** For the OpenAPI document. */
  description: string;
}

/** What a route is run with: parsed, and with the caller's scope in place of the sender. */
export interface RouteInput {
  scope: SenderScope;
  /** For the route that tells it; what a caller may do is its scope's affair. */
  caller: Caller;
  params: Record<string, string>;
  query: Record<string, unknown>;
  /** Those of the row's headers that were sent, as they came. */
  headers: Record<string, string>;
  body: Record<string, unknown>;
  /** The OpenAPI document, for the mount that the request came to. */
  openApi(): string;
}

export interface RouteResult {
  status: number;
  /** Written as JSON; absent is no body at all. */
  body?: unknown;
  /** Written as it is, in place of `body`; the row's `mediaType` says what it is. */
  text?: string;
  /** The id of what was made, now or by an earlier request, for the `Location`. */
  createdId?: string;
}

/** One row of the table: all that the control plane knows of a route. */
export type Route = RouteRow & RouteBody;

/** `none` takes an empty body or `{}`. Default for a POST: `none`. */
type RouteBody =
  | { body?: 'none'; input?: undefined }
  /** `input` is what the operation reads the body by. */
  | { body: 'required' | 'optional'; input: z.ZodType };

interface RouteRow {
  /** What `authorize` is told, and the name of the operation in the OpenAPI document. */
  operation: string;
  method: Method;
  /** `/endpoints/:id` */
  path: string;
  /** A line that says what it does, for lists of operations. */
  summary: string;
  /** What the line leaves open; Markdown. */
  description?: string;
  /** The group that it is shown in. Default: the first part of the operation. */
  tag?: string;
  /** What each status of a success holds; null is no body. */
  answers: Readonly<Record<number, z.ZodType | null>>;
  /** What a success is written as. @default 'application/json; charset=utf-8' */
  mediaType?: string;
  /** The codes that are its own, beside those that any route answers. */
  errors: readonly AdminErrorCode[];
  /** Answers without asking the store, and so also while that is away. */
  storeless?: true;
  /** It shows signing secrets, and changes nothing: read-only callers are refused, and who is not is recorded. */
  revealsSecret?: true;
  query?: Record<string, QueryParameter>;
  /** Request headers that it looks at, by their names in lower case. */
  headers?: Record<string, HeaderParameter>;
  /** A refusal that comes before the body is looked at. */
  before?(input: Pick<RouteInput, 'scope' | 'params'>): void;
  run(input: RouteInput): Promise<RouteResult>;
}
