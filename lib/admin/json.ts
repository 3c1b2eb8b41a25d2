import { HookplaneError } from '../model/errors.js';

const MAX_DEPTH = 32;
const MAX_NODES = 10_000;
const TOKEN = /"[^"\\]*(?:\\.[^"\\]*)*"|[{}[\],:]|[^\s"{}[\],:]+/gs;

/**
 * Refuses what `JSON.parse` lets through and what comes after would pay for: a name that an object has twice (the
 * parser keeps the last and drops the others without a word), nesting that overflows the stack of a later step, and
 * very many values.
 * @param text JSON that parses
 * @throws HookplaneError `INVALID_BODY`
 */
export function assertSoundJson(text: string): void {
  const open: (Set<string> | null)[] = [];
  let nodes = 0;
  let name: string | undefined;
  for (const [token] of text.matchAll(TOKEN)) {
    switch (token) {
      case '{':
      case '[':
        nodes += 1;
        open.push(token === '{' ? new Set() : null);
        if (open.length > MAX_DEPTH) throw unsound(`is nested deeper than ${MAX_DEPTH} levels`);
        break;
      case '}':
      case ']':
        open.pop();
        break;
      case ':': {
        const names = open.at(-1);
        if (names?.has(name!)) throw unsound(`has the name ${JSON.stringify(name)} twice in one object`);
        names?.add(name!);
        break;
      }
      case ',':
        break;
      default:
        nodes += 1;
        // A string may be the name that the next colon ends.
        name = token.startsWith('"') ? (JSON.parse(token) as string) : undefined;
    }
    if (nodes > MAX_NODES) throw unsound(`holds more than ${MAX_NODES} values`);
  }
}

function unsound(what: string): HookplaneError {
  return new HookplaneError('INVALID_BODY', `The body ${what}`);
}
