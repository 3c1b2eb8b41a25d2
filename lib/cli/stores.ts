import { existsSync } from 'node:fs';
import { HookplaneError } from '../model/errors.js';
import { parseUrl } from '../model/url.js';
import type { Store } from '../store/store.js';
import { type OptionSpec, UsageError, type Values } from './options.js';

/** A kind of store that the program can open. */
interface StoreKind {
  /** The option that names one. */
  option: string;
  /** What its value is called. */
  value: string;
  help: string;
  /** How `HOOKPLANE_STORE` names one. */
  variable: string;
  /** Where the one is that a value of `HOOKPLANE_STORE` names; null when it names none of this kind. */
  locate(text: string): string | null;
  /** Where opening makes what is not there: how to look first. */
  makes?: {
    /** Says why there is nothing to open; null when there may be. */
    missing(location: string): string | null;
    /** Stands for one that is new, and makes nothing. */
    blank: string;
  };
  open(location: string, options: { migrate: boolean }): Promise<Store>;
}

/** One entry for each kind. Whatever it needs is loaded when one is opened. */
const KINDS: readonly StoreKind[] = [
  {
    option: 'sqlite',
    value: 'FILE',
    help: 'The SQLite file of the store',
    variable: 'sqlite:FILE',
    locate: (text) => (text.startsWith('sqlite:') ? text.slice('sqlite:'.length) : null),
    makes: {
      missing: (file) => (existsSync(file) ? null : `There is no file ${JSON.stringify(file)}`),
      blank: ':memory:',
    },
    open: async (file, options) => (await import('../store/sqlite.js')).sqliteStore({ file, ...options }),
  },
  {
    option: 'postgres',
    value: 'URL',
    help: 'The PostgreSQL database of the store; ?schema=NAME unless it is hookplane',
    variable: 'postgres://…',
    locate: (text) => (/^postgres(?:ql)?:\/\//i.test(text) ? text : null),
    async open(text, options) {
      const url = parseUrl(text);
      if (url === null || !/^postgres(?:ql)?:$/.test(url.protocol)) {
        throw new UsageError('--postgres takes a URL such as postgres://user@host:5432/database');
      }
      const schema = url.searchParams.get('schema');
      url.searchParams.delete('schema');
      const { postgresStore } = await import('../store/postgres.js');
      return postgresStore({
        connectionString: url.href,
        ...(schema !== null && { schema }),
        // Nothing here waits for work.
        listen: false,
        maxConnections: 2,
        ...options,
      });
    },
  },
];

const VARIABLE = 'HOOKPLANE_STORE';

export const STORE_OPTIONS: Readonly<Record<string, OptionSpec>> = Object.fromEntries(
  KINDS.map(({ option, value, help }) => [option, { value, help }]),
);

export const STORE_HELP = `The store may also be named by the environment: ${VARIABLE}=${KINDS.map(({ variable }) => variable).join(' or ')}.`;

/** The store that the user has named. */
export interface StoreChoice {
  /** Not opened yet; where there is nothing, opening may make it. */
  make(options: { migrate: boolean }): Promise<Store>;
  /** To look at; where there is nothing, one that is empty. */
  look(): Promise<Store>;
  /** @throws HookplaneError `STORE_UNAVAILABLE` when there is nothing yet: opening a file would make it */
  assertExists(): void;
}

/** @throws UsageError. What it says holds no location: that may have a password in it. */
export function chooseStore(values: Values, env: Readonly<Record<string, string | undefined>>): StoreChoice {
  const given = KINDS.filter(({ option }) => values[option] !== undefined);
  if (given.length > 1) {
    throw new UsageError(
      `${given.map(({ option }) => `--${option}`).join(' and ')} name two stores: give one`,
    );
  }
  const [kind] = given;
  if (kind) return choiceOf(kind, values[kind.option] as string);
  const named = env[VARIABLE];
  const wanted = KINDS.map(({ option, value }) => `--${option} ${value}`).join(' or ');
  if (!named) throw new UsageError(`No store is named: give ${wanted}, or set ${VARIABLE}`);
  for (const each of KINDS) {
    const location = each.locate(named);
    if (location !== null) return choiceOf(each, location);
  }
  const forms = KINDS.map(({ variable }) => variable).join(' or ');
  throw new UsageError(`${VARIABLE} must have the form ${forms}`);
}

function choiceOf(kind: StoreKind, location: string): StoreChoice {
  if (location === '') throw new UsageError(`The ${kind.value} of the store is empty`);
  const problem = kind.makes?.missing(location) ?? null;
  return {
    make: (options) => kind.open(location, options),
    look: () => kind.open(problem !== null && kind.makes ? kind.makes.blank : location, { migrate: false }),
    assertExists() {
      if (problem === null) return;
      throw new HookplaneError(
        'STORE_UNAVAILABLE',
        `${problem}: check the path, or make it by hookplane migrate`,
      );
    },
  };
}
