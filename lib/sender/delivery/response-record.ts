import { StringDecoder } from 'node:string_decoder';

/** What is read of a body before its connection is dropped. */
const MAX_BODY_BYTES = 16_384;
/** What a piece counts at least: a body in chunks of one byte otherwise costs the time of 16 000 callbacks. */
const MIN_PIECE_BYTES = 4;
const KEPT_BODY_BYTES = 4096;
const MAX_HEADERS = 64;
const MAX_HEADER_CHARACTERS = 8192;

/** Takes the chunks of a response body and keeps the first 4 KiB. */
export function createBodyRecord() {
  const kept: Buffer[] = [];
  let keptBytes = 0;
  let cut = false;
  let counted = 0;
  return {
    /** False when more than is read has arrived. */
    add(chunk: Buffer): boolean {
      counted += Math.max(chunk.length, MIN_PIECE_BYTES);
      const part = chunk.subarray(0, KEPT_BODY_BYTES - keptBytes);
      if (part.length > 0) kept.push(part);
      keptBytes += part.length;
      cut ||= part.length < chunk.length;
      return counted <= MAX_BODY_BYTES;
    },
    /** As text that any store takes: U+FFFD stands for NUL, which PostgreSQL refuses, and for bytes that are no UTF-8. */
    text(): string {
      if (keptBytes === 0) return '';
      const content = kept.length === 1 ? (kept[0] as Buffer) : Buffer.concat(kept);
      // The decoder leaves out a character that the cut has halved.
      const text = cut ? new StringDecoder('utf8').write(content) : content.toString();
      return text.includes('\0') ? text.replaceAll('\0', '\uFFFD') : text;
    },
  };
}

/** Repeated headers joined, and as many of them as fit: at most 64 and 8 KiB. */
export function recordHeaders(
  headers: Record<string, string | string[] | undefined>,
): Record<string, string> {
  const kept: Record<string, string> = {};
  let count = 0;
  let characters = 0;
  for (const name in headers) {
    const value = headers[name];
    if (value === undefined || name === '__proto__') continue;
    const text = typeof value === 'string' ? value : value.join(', ');
    if (characters + name.length + text.length > MAX_HEADER_CHARACTERS) continue;
    characters += name.length + text.length;
    kept[name] = text;
    count += 1;
    if (count === MAX_HEADERS) break;
  }
  return kept;
}
