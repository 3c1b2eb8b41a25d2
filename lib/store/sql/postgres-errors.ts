import { HookplaneError } from '../../model/errors.js';
import { TransactionConflict } from './steps.js';

interface PostgresError {
  /** Of the server: five characters, the first two its class. Of Node: `ECONNREFUSED` and the like. */
  code?: unknown;
  message?: unknown;
  /** Where in the server. */
  routine?: unknown;
  severity?: unknown;
}

/**
 * By their class: 08 connection, 28 and 3D who and where (a server that starts anew, a database that is moved), 53
 * resources, 57 operator intervention and statements that took too long, 58 system, 25006 a standby, 25P03 and 25P04
 * a process that was held up for too long within a transaction.
 */
const UNAVAILABLE = /^(08|28|3D|40|53|57|58|XX|25006|25P03|25P04|55P03)/;
const OF_NODE = /^E[A-Z]+$|^EAI_[A-Z]+$|^ERR_(SSL|TLS|STREAM|SOCKET)/;
/** Of the driver, which gives them no code. */
const OF_DRIVER =
  /connection terminated|connection error|not queryable|read timeout|timeout exceeded|connection timeout|after calling end|client was closed|does not support SSL|server closed/i;

/** Whether the client that failed so is still in step with its server, and may be used again. */
export function isOfServer(error: unknown): boolean {
  const { severity, code } = read(error);
  return typeof severity === 'string' && typeof code === 'string' && !/^(FATAL|PANIC)$/.test(severity);
}

/** Whether the transaction may be made again: it was broken off in favour of another one. */
export function isConflict(error: unknown): boolean {
  return error instanceof TransactionConflict || /^40(001|P01)$/.test(String(read(error).code));
}

/** A row whose key another transaction has inserted in the meantime. */
export function isTaken(error: unknown): boolean {
  return read(error).code === '23505';
}

/** A statement that was prepared before a migration changed what it answers; a new connection prepares it anew. */
export function isOutdated(error: unknown): boolean {
  return read(error).routine === 'RevalidateCachedQuery';
}

export function translatePostgresError(error: unknown): HookplaneError | null {
  const { code, message } = read(error);
  if (code === '53100') {
    return new HookplaneError('STORE_UNAVAILABLE', 'The disk of the store is full', { cause: error });
  }
  if (code === '26000' || code === '42P05') {
    const problem =
      'A pooler gives each transaction another session: set prepare and listen of postgresStore to false';
    return new HookplaneError('STORE_UNAVAILABLE', problem, { cause: error });
  }
  const unavailable =
    error instanceof TransactionConflict ||
    // What a standby says to a transaction that is to write.
    (code === '0A000' && /during recovery/.test(String(message))) ||
    (typeof code === 'string' && (UNAVAILABLE.test(code) || OF_NODE.test(code))) ||
    (code === undefined && OF_DRIVER.test(String(message)));
  return unavailable
    ? new HookplaneError('STORE_UNAVAILABLE', 'The store does not answer', { cause: error })
    : null;
}

/** By their fields: under test runners errors are of several realms. */
function read(error: unknown): PostgresError {
  return (error ?? {}) as PostgresError;
}
