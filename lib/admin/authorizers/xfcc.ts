/** A key, a value (quoted where it holds a separator), and what follows: `;` another pair, `,` another certificate. */
const PAIR = /([a-z]+)=(?:"((?:[^"\\]|\\.)*)"|([^",;]*))(;|,|$)/iy;

/**
 * A field of `x-forwarded-client-cert`, which Envoy and Istio write as `By=…;Hash=…;Subject="CN=…,O=…"`.
 * @returns undefined when the field is missing or empty, and when it is not clear whose it is: the header names several
 *   certificates (of proxies in a row), gives the field twice or is malformed
 */
export function xfccValue(header: string, field: string): string | undefined {
  const found: string[] = [];
  PAIR.lastIndex = 0;
  while (PAIR.lastIndex < header.length) {
    const [, key = '', quoted, bare = '', end] = PAIR.exec(header) ?? [];
    if (key === '' || end === ',') return undefined;
    if (key.toLowerCase() === field.toLowerCase()) found.push(quoted?.replace(/\\(.)/g, '$1') ?? bare);
  }
  return found.length === 1 && found[0] !== '' ? found[0] : undefined;
}
