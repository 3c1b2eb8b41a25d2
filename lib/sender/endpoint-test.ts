import { createId } from '../model/ids.js';
import { parseInput } from '../model/input.js';
import { testInput } from '../model/message.js';
import type { EndpointOperations } from '../model/scope.js';
import type { TenantScope } from '../store/store.js';
import type { Auditor } from './audit.js';
import type { SenderCore } from './core.js';
import { publicAttempt, toAttempt } from './delivery/outcome.js';
import { eventText, serialize } from './messages.js';
import { assertActive, endpointNotFound } from './scope-rules.js';
import { callersTraceContext } from './tracing.js';

const DATA = { message: 'This is a test of the endpoint: nothing has happened.' };

export function testOperation(
  core: SenderCore,
  tenant: TenantScope,
  audit: Auditor | undefined,
): EndpointOperations['test'] {
  return async (id, input = {}) => {
    const store = await core.ready();
    const endpoint = (await store.endpoints.get(tenant, id)) ?? endpointNotFound(id);
    const { type, data = DATA } = parseInput(
      testInput,
      input,
      'MESSAGE_VALIDATION',
      'The test',
      () => 'is not a field of a test',
    );
    const now = core.options.now();
    const payload = eventText(type, now, serialize(data));
    assertActive(endpoint);
    // Recorded with the reading of the secrets: what nobody could answer for is not signed.
    const tested = audit?.('endpoints.test', id);
    const live = (await store.endpoints.secrets(tenant, id, now, tested)) ?? endpointNotFound(id);
    const messageId = createId('msg', now);
    const target = { endpoint, secrets: live, failingSince: null, slowStep: 0 };
    const first = { attemptCount: 0, trigger: 'test', target } as const;
    const result = await core.tester.test({
      webhookId: messageId,
      message: {
        id: messageId,
        tenantId: endpoint.tenantId,
        type,
        channels: null,
        createdAt: now,
        payload,
        traceContext: callersTraceContext(core.tracing),
      },
      ...first,
    });
    return publicAttempt(toAttempt(first, result, null), { messageId, endpointId: endpoint.id });
  };
}
