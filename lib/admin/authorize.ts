/** What `authorize` is told of a request beside the request itself. */
export interface AuthorizeInfo {
  /** The name of the operation that is asked for, such as `endpoints.create`; null when no route matches. */
  operation: string | null;
  /** The ids in the path, decoded. */
  params: Readonly<Record<string, string>>;
  /** What the host framework has at hand: `{ req, res }` under Express and node:http. */
  host: unknown;
}

/**
 * A decision: `true` allows an unbound caller, `false` denies with 403. In the object form `status: 401` denies as
 * "not authenticated", and a `tenantId` binds the caller to that tenant. A `tenantId` that is there but is not a
 * non-empty string denies: leave the key out for a caller that may see every tenant.
 */
export type Decision = boolean | { allow: boolean; status?: 401 | 403; tenantId?: string };

/** Decides who may enter (spec §5). It is asked for every request, before anything else of it is looked at. */
export type Authorize = (request: Request, info: AuthorizeInfo) => Decision | Promise<Decision>;

export type Verdict =
  | { allowed: true; tenantId: string | undefined }
  /** `fault` is there, though it may be anything, when something is wrong with the authorizer itself. */
  | { allowed: false; status: 401 | 403; fault?: unknown };

/** Asks the authorizer; whatever is not clearly a yes is a no. */
export async function decide(authorize: Authorize, request: Request, info: AuthorizeInfo): Promise<Verdict> {
  let decision: unknown;
  try {
    decision = await authorize(request, info);
    if (decision === true) return { allowed: true, tenantId: undefined };
    if (decision === false) return { allowed: false, status: 403 };
    return readDecision(decision);
  } catch (fault) {
    return { allowed: false, status: 403, fault };
  }
}

function readDecision(decision: unknown): Verdict {
  if (typeof decision !== 'object' || decision === null || Array.isArray(decision)) {
    return refuse(
      `authorize answered ${kindOf(decision)}: it must answer a boolean, or an object with a boolean "allow"`,
    );
  }
  // Read once: a getter could say something else the second time.
  const { allow, status } = decision as { allow?: unknown; status?: unknown };
  if (typeof allow !== 'boolean') {
    return refuse(`authorize answered an object whose "allow" is ${kindOf(allow)}: it must be a boolean`);
  }
  if (!allow) return { allowed: false, status: status === 401 ? 401 : 403 };
  if (!('tenantId' in decision)) return { allowed: true, tenantId: undefined };
  const { tenantId } = decision as { tenantId?: unknown };
  if (typeof tenantId !== 'string' || tenantId === '') {
    return refuse(
      `authorize answered a tenantId that is ${kindOf(tenantId)}: it must be a non-empty string; leave the key out for a caller that may see every tenant`,
    );
  }
  return { allowed: true, tenantId };
}

function refuse(message: string): Verdict {
  return { allowed: false, status: 403, fault: new TypeError(message) };
}

function kindOf(value: unknown): string {
  if (value === '') return 'an empty string';
  if (value === null || value === undefined) return String(value);
  return Array.isArray(value) ? 'an array' : `of type ${typeof value}`;
}
