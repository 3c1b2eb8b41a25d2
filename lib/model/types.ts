/** A message type: segments of letters, digits, `_` and `-`, joined by full stops (`invoice.paid`). */
export const MESSAGE_TYPE = /^[A-Za-z0-9_-]+(?:\.[A-Za-z0-9_-]+)*$/;
export const MAX_TYPE_LENGTH = 255;

/** A pattern of an endpoint's `types`: a type, `*` (every type), or a type followed by `.*`. */
export const TYPE_PATTERN = /^(?:\*|[A-Za-z0-9_-]+(?:\.[A-Za-z0-9_-]+)*(?:\.\*)?)$/;

/**
 * Whether a message type is one that the patterns ask for; null asks for every type. `order.*` stands for one or
 * more segments after `order`. Prefixes are compared as text: no pattern is ever turned into a regular expression.
 */
export function matchesTypes(patterns: readonly string[] | null, type: string): boolean {
  if (patterns === null) return true;
  return patterns.some((pattern) => {
    if (pattern === '*' || pattern === type) return true;
    if (!pattern.endsWith('.*')) return false;
    const prefix = pattern.slice(0, -1);
    return type.length > prefix.length && type.startsWith(prefix);
  });
}

/** Channels match when both sides name one in common, or the endpoint names none. */
export function matchesChannels(
  wanted: readonly string[] | null,
  channels: readonly string[] | null,
): boolean {
  if (wanted === null || wanted.length === 0) return true;
  return channels?.some((channel) => wanted.includes(channel)) ?? false;
}
