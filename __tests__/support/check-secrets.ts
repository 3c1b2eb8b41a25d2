// Runs before every test file: no signing secret that a test makes or gives may stand in what comes out of the sender or
// the control plane. The test during which one did fails. The four operations that answer a secret may.
import { inspect } from 'node:util';
import type * as Logger from '../../lib/model/logger.js';
import type * as Events from '../../lib/sender/events.js';
import type * as Keys from '../../lib/sender/keys.js';

/** The beginnings of the secrets that are in use, in base64 and without their prefix. */
const known = new Set<string>();
const found: string[] = [];
/** As long as the beginning of the shortest secret that is taken, and longer than any id or cursor has in common. */
const LENGTH = 30;
const RUN = new RegExp(`[A-Za-z0-9+/]{${LENGTH},}`, 'g');

function remember(secret: string): void {
  known.add(secret.replace(/^wh(?:sec|sk)_/, '').slice(0, LENGTH));
}

/** Notes it when a text holds one of the secrets. */
export function lookForSecrets(where: string, text: string): void {
  for (const [run] of text.matchAll(RUN)) {
    for (const secret of known) if (run.includes(secret)) found.push(`${where}: ${text.slice(0, 500)}`);
  }
}

/** What was found since it was last asked, which then fails no test. */
export function takeSecrets(): string[] {
  return found.splice(0);
}

jest.mock('../../lib/sender/keys.js', () => {
  const keys = jest.requireActual<typeof Keys>('../../lib/sender/keys.js');
  const watched: Pick<typeof Keys, 'checkSecret' | 'generateSymmetric' | 'generateAsymmetric'> = {
    checkSecret(secret) {
      const problem = keys.checkSecret(secret);
      if (problem === null) remember(secret);
      return problem;
    },
    generateSymmetric() {
      const made = keys.generateSymmetric();
      remember(made.secret);
      return made;
    },
    generateAsymmetric() {
      const made = keys.generateAsymmetric();
      remember(made.privateKey);
      return made;
    },
  };
  return { ...keys, ...watched };
});

jest.mock('../../lib/model/logger.js', () => {
  const logger = jest.requireActual<typeof Logger>('../../lib/model/logger.js');
  const safeLogger = (given: Logger.Logger): Logger.Logger => {
    const safe = logger.safeLogger(given);
    const watched =
      (level: keyof Logger.Logger): Logger.Logger['error'] =>
      (message, fields) => {
        lookForSecrets('log', `${message} ${inspect(fields, { depth: 5 })}`);
        safe[level](message, fields);
      };
    return { error: watched('error'), warn: watched('warn'), info: watched('info'), debug: watched('debug') };
  };
  return { ...logger, safeLogger };
});

jest.mock('../../lib/sender/events.js', () => {
  const events = jest.requireActual<typeof Events>('../../lib/sender/events.js');
  const createEmitter: typeof Events.createEmitter = (logger) => {
    const emitter = events.createEmitter(logger);
    return {
      ...emitter,
      emit(name, event) {
        lookForSecrets(`event ${name}`, inspect(event, { depth: 5 }));
        emitter.emit(name, event);
      },
    };
  };
  return { ...events, createEmitter };
});

const ANSWER_SECRETS = /^POST \/(?:endpoints|endpoints\/[^/]+\/rotate-secret|keys\/\w+)\/?$|\/secret\/?$/;

/** Looks through an answer of the control plane. */
export function lookThroughAnswer(method: string, path: string | null, body: string | null): void {
  if (body !== null && !ANSWER_SECRETS.test(`${method} ${path}`)) lookForSecrets(`${method} ${path}`, body);
}

function report(): void {
  const leaks = takeSecrets();
  if (leaks.length > 0) throw new Error(`A secret came out:\n${leaks.join('\n')}`);
}

afterEach(report);
afterAll(report);
