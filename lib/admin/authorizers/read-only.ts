import { type Authorize, decide, lazyAuthorizer, toDecision } from '../authorize.js';
import { invalidOptions } from './invalid-options.js';

/**
 * The same decision, but whoever is allowed may only GET and HEAD, and no signing secrets: anything else is answered 403.
 * The `headers` of endpoints are shown: they are part of the record, whatever credentials of a receiver they hold.
 * @throws HookplaneError `INVALID_OPTIONS`
 */
export function readOnly(authorize: Authorize): Authorize {
  if (typeof authorize !== 'function') {
    throw invalidOptions('readOnly')('it needs an authorizer, a function');
  }
  return lazyAuthorizer(async (request, info) => {
    const verdict = await decide(authorize, request, info);
    return toDecision(verdict.allowed ? { ...verdict, readOnly: true } : verdict);
  });
}
