/** One condition of an endpoint's structural filter: the value at `dataPath` in a message's `data` equals `equals`. */
export interface FilterClause {
  /** Property names and array indexes joined by full stops, `order.lines.0.sku`. */
  dataPath: string;
  /** Any JSON value; objects and arrays are compared in depth. */
  equals: unknown;
}

/** A clause, or several of which every one must hold. */
export type Filter = FilterClause | FilterClause[];

/** Whether a message's `data` passes the filter; null passes everything. */
export function matchesFilter(filter: Filter | null, data: unknown): boolean {
  if (filter === null) return true;
  const clauses = Array.isArray(filter) ? filter : [filter];
  return clauses.every((clause) => {
    const found = valueAt(data, clause.dataPath);
    return found.exists && deepEquals(found.value, clause.equals);
  });
}

/** Walks own properties only, so that no path reaches what a value inherits (`constructor.name`). */
function valueAt(data: unknown, path: string): { exists: boolean; value?: unknown } {
  let value = data;
  for (const segment of path.split('.')) {
    if (typeof value !== 'object' || value === null || !Object.hasOwn(value, segment))
      return { exists: false };
    if (Array.isArray(value) && !/^(?:0|[1-9]\d*)$/.test(segment)) return { exists: false };
    value = (value as Record<string, unknown>)[segment];
  }
  return { exists: true, value };
}

function deepEquals(a: unknown, b: unknown): boolean {
  if (a === b) return true;
  if (typeof a !== 'object' || typeof b !== 'object' || a === null || b === null) return false;
  if (Array.isArray(a) !== Array.isArray(b)) return false;
  const keys = Object.keys(a);
  if (keys.length !== Object.keys(b).length) return false;
  return keys.every(
    (key) =>
      Object.hasOwn(b, key) &&
      deepEquals((a as Record<string, unknown>)[key], (b as Record<string, unknown>)[key]),
  );
}
