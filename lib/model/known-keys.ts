/** The keys that an options object may have, each by name: the compiler then misses what the options learn later. */
export type KnownKeys<Options> = Readonly<Record<keyof Options, true>>;

/**
 * Finds a key that is none of the known ones. A misspelt one is as good as none, and would leave open what it was to
 * close.
 * @returns what is wrong, as a predicate; null when nothing is
 */
export function unknownKey<Options>(given: object, known: KnownKeys<Options>): string | null {
  const unknown = Object.keys(given).find((key) => !Object.hasOwn(known, key));
  return unknown === undefined
    ? null
    : `has an unknown key ${JSON.stringify(unknown)}: use ${Object.keys(known).join(', ')}`;
}
