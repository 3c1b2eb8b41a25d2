import type { CallerRecord } from '../../model/caller.js';
import type { Route } from '../route.js';
import { caller } from '../schemas/caller.js';

export const getCaller: Route = {
  operation: 'caller',
  method: 'GET',
  path: '/caller',
  tag: 'service',
  summary: 'Read who is asking',
  description:
    'What the application has decided of the caller, for pages that show what the caller may see and offer what it may do.',
  answers: { 200: caller },
  errors: [],
  storeless: true,
  async run({ caller: { tenantId, actor, readOnly } }) {
    const body: CallerRecord = {
      tenantId: tenantId ?? null,
      readOnly,
      actor: actor ? { id: actor.id, name: actor.name ?? null } : null,
    };
    return { status: 200, body };
  },
};
