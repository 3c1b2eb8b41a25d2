import { HookplaneError } from '../../model/errors.js';

/** Makes the errors of one authorizer, whose messages begin with its name. */
export function invalidOptions(where: string): (problem: string, cause?: unknown) => HookplaneError {
  return (problem, cause) => new HookplaneError('INVALID_OPTIONS', `${where}: ${problem}`, { cause });
}
