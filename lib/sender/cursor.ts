import { createHash } from 'node:crypto';
import { HookplaneError } from '../model/errors.js';
import { DEFAULT_LIMIT, MAX_LIMIT, type Position } from '../model/page.js';

const VERSION = 1;
/** Above the longest that is given: a tenant's id has up to 255 characters of up to three bytes, and base64 adds a third. */
const MAX_LENGTH = 1500;

/**
 * A list, and the filters it was asked with: what a cursor is bound to. A caller's tenant is not among them. It comes
 * from each request anew, so a cursor carries nothing that needs a signature.
 */
export interface Listing {
  name: string;
  filters?: Record<string, unknown> | undefined;
}

export function encodeCursor(listing: Listing, position: CursorPosition | null): string | null {
  if (position === null) return null;
  const { ms, id, until = null } = position;
  return write(withCheck([VERSION, listing.name, filterHash(listing), ms, id, until]));
}

/** Where a page ended, and the end of a walk whose end was not asked for: what its first page took for "now". */
export interface CursorPosition extends Position {
  until?: number | undefined;
}

/** @throws HookplaneError `INVALID_QUERY` */
export function decodeCursor(listing: Listing, cursor: unknown): CursorPosition | null {
  if (cursor === undefined) return null;
  const fields = read(cursor);
  if (!fields)
    throw new HookplaneError('INVALID_QUERY', 'cursor is malformed: pass nextCursor back as it was given');
  const [version, name, hash, ms, id, until] = fields;
  if (version !== VERSION || name !== listing.name) {
    throw new HookplaneError('INVALID_QUERY', 'cursor belongs to another list');
  }
  if (hash !== filterHash(listing)) {
    throw new HookplaneError(
      'INVALID_QUERY',
      'cursor belongs to the same list with other filters: repeat those it was given for',
    );
  }
  return { ms, id, until: until ?? undefined };
}

/**
 * @returns the page size: 100 when none is asked for, 1000 at the most
 * @throws HookplaneError `INVALID_QUERY`
 */
export function pageLimit(limit: unknown): number {
  if (limit === undefined) return DEFAULT_LIMIT;
  if (typeof limit !== 'number' || !Number.isInteger(limit) || limit < 1) {
    throw new HookplaneError('INVALID_QUERY', 'limit must be a positive whole number');
  }
  return Math.min(limit, MAX_LIMIT);
}

type Place = [version: number, name: string, hash: string, ms: number, id: string, until: number | null];
type Fields = [...place: Place, check: string];

/** A damaged cursor must not be taken for another place of the list. The check is no signature: anybody can make it. */
function withCheck(place: Place): Fields {
  return [...place, digest(place).slice(0, 8)];
}

function write(fields: Fields): string {
  return Buffer.from(JSON.stringify(fields)).toString('base64url');
}

function read(cursor: unknown): Fields | null {
  if (typeof cursor !== 'string' || cursor.length > MAX_LENGTH) return null;
  let fields: unknown;
  try {
    fields = JSON.parse(Buffer.from(cursor, 'base64url').toString());
  } catch {
    return null;
  }
  if (!Array.isArray(fields)) return null;
  const [version, name, hash, ms, id, until] = fields;
  const typed =
    typeof version === 'number' &&
    typeof name === 'string' &&
    typeof hash === 'string' &&
    Number.isSafeInteger(ms) &&
    typeof id === 'string' &&
    (until === null || Number.isSafeInteger(until));
  if (!typed) return null;
  // Only what this module wrote: another spelling of the same fields is no cursor.
  const written = withCheck([version, name, hash, ms, id, until]);
  return write(written) === cursor ? written : null;
}

function filterHash({ filters = {} }: Listing): string {
  const named = Object.entries(filters)
    .filter(([, value]) => value !== undefined)
    .sort(([a], [b]) => (a < b ? -1 : 1));
  if (named.length === 0) return '';
  return digest(named).slice(0, 16);
}

function digest(value: unknown): string {
  return createHash('sha256').update(JSON.stringify(value)).digest('base64url');
}
