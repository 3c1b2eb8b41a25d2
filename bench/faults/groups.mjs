export function groupBy(items, keyOf) {
  const groups = new Map();
  for (const item of items) {
    const key = keyOf(item);
    if (!groups.has(key)) groups.set(key, []);
    groups.get(key).push(item);
  }
  return groups;
}

export function count(counts, key) {
  counts.set(key, (counts.get(key) ?? 0) + 1);
  return counts;
}

export const tally = (keys) => keys.reduce(count, new Map());

/** Not by spreading into Math.max, which fails on very many. */
export const most = (numbers) => numbers.reduce((highest, each) => Math.max(highest, each), 0);

export const sum = (numbers) => numbers.reduce((total, each) => total + each, 0);
