/** In the order in which they are preferred. */
export const ENCODINGS = ['br', 'gzip', 'identity'] as const;
export type Encoding = (typeof ENCODINGS)[number];

/**
 * The encoding that is to be sent to who has named these (RFC 9110 §12.5.3): of those with the highest weight, the
 * smallest. Bytes as they are, when none will do: nothing else could be sent in their place.
 */
export function chooseEncoding(acceptEncoding: string | null): Encoding {
  const weights = readWeights(acceptEncoding ?? '');
  const weightOf = (encoding: Encoding): number =>
    // Unless it is named, unencoded is what is taken when all else is not.
    weights.get(encoding) ?? (encoding === 'identity' ? Number.MIN_VALUE : (weights.get('*') ?? 0));
  let chosen: Encoding = 'identity';
  let best = 0;
  for (const encoding of ENCODINGS) {
    if (weightOf(encoding) > best) [chosen, best] = [encoding, weightOf(encoding)];
  }
  return chosen;
}

function readWeights(acceptEncoding: string): Map<string, number> {
  const weights = new Map<string, number>();
  for (const item of acceptEncoding.split(',')) {
    const [coding = '', ...parameters] = item.split(';').map((part) => part.trim().toLowerCase());
    const weight = parameters.find((parameter) => parameter.startsWith('q='))?.slice(2) ?? '1';
    // A weight that is none counts as a refusal: what nobody asked for clearly is not sent.
    if (coding !== '')
      weights.set(coding, /^(?:0(?:\.\d{0,3})?|1(?:\.0{0,3})?)$/.test(weight) ? Number(weight) : 0);
  }
  return weights;
}

/** Whether `If-None-Match` names this tag, compared weakly (RFC 9110 §13.1.2): a proxy may have marked it as weak. */
export function namesTag(ifNoneMatch: string | null, etag: string): boolean {
  if (ifNoneMatch === null) return false;
  return ifNoneMatch.split(',').some((tag) => {
    const trimmed = tag.trim();
    return trimmed === '*' || trimmed.replace(/^W\//, '') === etag;
  });
}
