import { messageOf } from '../../model/error-text.js';
import { type Authorize, decide, lazyAuthorizer, toDecision, type Verdict } from '../authorize.js';
import { copyOf } from '../incoming.js';
import { lazyRequest } from '../lazy-request.js';
import { invalidOptions } from './invalid-options.js';

const invalid = invalidOptions('anyOf');

/**
 * Asks one authorizer after the other; the first that allows decides, with its tenant, actor and limits. When none
 * does, the answer is 401 if any of them said 401, else 403, with the sentence of the first that said so.
 *
 * An authorizer that fails counts as one that denies, and `onError` is told, whether or not another one allows. The
 * refusal of a cross-site request is one of those denials: it concerns what the browser sent by itself, not a bearer
 * token beside it, which no page of another site can know.
 *
 * Each of them may read the body of the request: they get one each.
 * @throws HookplaneError `INVALID_OPTIONS` when there is none, or one is no function
 */
export function anyOf(...authorizers: readonly Authorize[]): Authorize {
  if (authorizers.length === 0) throw invalid('it needs an authorizer');
  for (const [index, authorize] of authorizers.entries()) {
    if (typeof authorize === 'function') continue;
    throw invalid(`argument ${index + 1} must be an authorizer, a function`);
  }
  return lazyAuthorizer(async (request, info) => {
    const faults: unknown[] = [];
    let verdict: Verdict | undefined;
    for (const authorize of authorizers) {
      const next = await decide(
        authorize,
        lazyRequest(request.head, () => copyOf(request.native())),
        info,
      );
      if ('fault' in next) faults.push(next.fault);
      if (next.allowed || !verdict || outranks(next, verdict)) verdict = next;
      if (next.allowed) break;
    }
    const { fault: _own, ...decision } = toDecision(verdict as Verdict);
    return faults.length === 0 ? decision : { ...decision, fault: joined(faults) };
  });
}

/** A caller who can do something about a denial is told what. */
function outranks(next: Verdict, verdict: Verdict): boolean {
  return !next.allowed && next.status === 401 && !verdict.allowed && verdict.status !== 401;
}

function joined(faults: readonly unknown[]): unknown {
  return faults.length === 1
    ? faults[0]
    : new AggregateError(faults, `${faults.length} authorizers failed: ${faults.map(messageOf).join('; ')}`);
}
