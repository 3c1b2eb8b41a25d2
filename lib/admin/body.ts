import { within } from '../model/deadline.js';
import { HookplaneError } from '../model/errors.js';
import { isPlainObject } from '../model/input.js';
import { type BodyBytes, tooLarge } from './body-bytes.js';
import { BodyUsed } from './host-body.js';
import type { Incoming } from './incoming.js';
import { assertSoundJson } from './json.js';
import type { RequestHead } from './lazy-request.js';

/** How long a caller who may enter has to send the body. */
export const BODY_MS = 20_000;

function tooSlow(): HookplaneError {
  return new HookplaneError('INVALID_BODY', `The body did not arrive within ${BODY_MS / 1000} seconds`);
}

/**
 * Reads a JSON object.
 * @returns undefined for an empty body
 * @throws HookplaneError `UNSUPPORTED_MEDIA_TYPE`, `BODY_TOO_LARGE`, `INVALID_BODY`
 */
export async function readJsonObject({
  head,
  bytes,
}: Incoming): Promise<Record<string, unknown> | undefined> {
  return bytes ? within(readWhole(head.headers, bytes), BODY_MS, tooSlow) : undefined;
}

const UTF8 = new TextDecoder('utf-8', { fatal: true });

async function readWhole(
  headers: RequestHead['headers'],
  body: BodyBytes,
): Promise<Record<string, unknown> | undefined> {
  const length = headers.get('content-length');
  // Some hosts give every POST a stream: what tells neither a length nor a type may be no body at all.
  const announced = length ?? headers.get('content-type');
  if (announced || (await received(body.at(0)))) assertJsonType(headers);
  if (Number(length) > body.maxBytes) throw tooLarge(body.maxBytes);
  const bytes = await received(body.whole());
  if (bytes.byteLength === 0) return undefined;
  let value: unknown;
  try {
    const text = UTF8.decode(bytes);
    value = JSON.parse(text);
    assertSoundJson(text);
  } catch (cause) {
    if (cause instanceof HookplaneError) throw cause;
    const what = cause instanceof SyntaxError ? 'is not valid JSON' : 'is not valid UTF-8';
    throw new HookplaneError('INVALID_BODY', `The body ${what}`, { cause });
  }
  if (!isPlainObject(value)) throw new HookplaneError('INVALID_BODY', 'The body must be a JSON object');
  return value;
}

async function received<T>(reading: Promise<T>): Promise<T> {
  try {
    return await reading;
  } catch (cause) {
    if (cause instanceof HookplaneError || cause instanceof BodyUsed) throw cause;
    throw new HookplaneError('INVALID_BODY', 'The body broke off before its end', { cause });
  }
}

function assertJsonType(headers: RequestHead['headers']): void {
  const encoding = headers.get('content-encoding')?.toLowerCase() ?? 'identity';
  if (encoding !== 'identity') {
    throw new HookplaneError(
      'UNSUPPORTED_MEDIA_TYPE',
      'The body must not be compressed: send it without a content-encoding',
    );
  }
  const type = headers.get('content-type') ?? '';
  if (!/^application\/(?:json|[\w.!#$&^+-]+\+json)\s*(?:;|$)/i.test(type)) {
    throw new HookplaneError(
      'UNSUPPORTED_MEDIA_TYPE',
      'The body must be JSON: send it with "content-type: application/json"',
    );
  }
}
