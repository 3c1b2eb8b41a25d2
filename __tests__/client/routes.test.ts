import type { AdminClient } from '../../lib/client/index.js';
import { createRouter } from '../../lib/admin/router.js';
import { ROUTES } from '../../lib/admin/routes.js';
import type {
  EndpointOperations,
  MessageOperations,
  SenderScope,
  TenantOperations,
} from '../../lib/model/scope.js';
import { type PlantedTenant, plantTenant } from '../admin/planted.js';
import { startReceiver } from '../support/receiver.js';
import { type Connected, connect } from './connected.js';

/** No record, but a text that a monitoring system reads. */
const EXCUSED = ['metrics', 'metrics.get'];

type Call = (client: AdminClient, target: PlantedTenant) => Promise<unknown>;

/** A call of each operation, about what a tenant has. */
const CALLS: Record<string, Call> = {
  'endpoints.list': (client) => client.endpoints.list(),
  'endpoints.create': (client) => client.endpoints.create({ url: 'https://example.com/hook' }),
  'endpoints.get': (client, { endpointId }) => client.endpoints.get(endpointId),
  'endpoints.update': (client, { endpointId }) => client.endpoints.update(endpointId, { description: 'b' }),
  'endpoints.delete': (client, { endpointId }) => client.endpoints.delete(endpointId),
  'endpoints.disable': (client, { endpointId }) => client.endpoints.disable(endpointId),
  'endpoints.enable': (client, { endpointId }) => client.endpoints.enable(endpointId),
  'endpoints.rotateSecret': (client, { endpointId }) => client.endpoints.rotateSecret(endpointId),
  'endpoints.secret': (client, { endpointId }) => client.endpoints.secret(endpointId),
  'endpoints.test': (client, { endpointId }) => client.endpoints.test(endpointId),
  'endpoints.attempts': (client, { endpointId }) => client.endpoints.attempts(endpointId),
  'endpoints.stats': (client, { endpointId }) => client.endpoints.stats(endpointId),
  replay: (client, { messageId }) => client.replay({ messageId }),
  reconcile: (client, { endpointId }) => client.reconcile({ endpointId, since: '2026-01-01' }),
  'tenants.setRateLimit': (client, { tenantId }) => client.tenants.setRateLimit(tenantId, { perSecond: 9 }),
  'tenants.delete': (client, { tenantId }) => client.tenants.delete(tenantId),
  'tenants.list': (client) => client.tenants.list(),
  'tenants.get': (client, { tenantId }) => client.tenants.get(tenantId),
  'keys.generateSymmetric': (client) => client.keys.generateSymmetric(),
  'keys.generateAsymmetric': (client) => client.keys.generateAsymmetric(),
  'messages.list': (client) => client.messages.list(),
  'messages.get': (client, { messageId }) => client.messages.get(messageId),
  'messages.attempts': (client, { messageId }) => client.messages.attempts(messageId),
  'messages.expungePayload': (client, { messageId }) => client.messages.expungePayload(messageId),
  send: (client) => client.send({ type: 'a.b', data: 1 }),
  stats: (client, { tenantId }) => client.stats({ tenantId, interval: 'minute' }),
  caller: (client) => client.caller(),
  health: (client) => client.health(),
  'audit.list': (client) => client.audit.list(),
  'openapi.get': (client) => client.openapi.get(),
};

const OPERATIONS = ROUTES.map(({ operation }) => operation).filter((name) => !EXCUSED.includes(name));

it('has a method for every route of the control plane', () => {
  expect(Object.keys(CALLS).sort()).toEqual([...OPERATIONS].sort());
});

describe.each(Object.entries(CALLS))('%s', (operation, ask) => {
  let connected: Connected;
  let target: PlantedTenant;
  beforeEach(async () => {
    connected = await connect();
    target = await plantTenant(connected.plane, 'acme/é', 'mark');
    const receiver = await startReceiver();
    await connected.plane.sender.endpoints.update(target.endpointId, { url: receiver.url('/') });
  });

  it('asks the route of its name, once, and takes its answer for one', async () => {
    await ask(connected.client, target);
    const matches = connected.asked.map((asked) => {
      const [method, path] = asked.split(' ') as [string, string];
      return createRouter(ROUTES).match(method, path.split('?')[0]!);
    });
    expect(matches).toEqual([
      { kind: 'route', route: expect.objectContaining({ operation }), params: expect.anything() },
    ]);
  });

  it('is called by the name of the operation', () => {
    const method = operation
      .split('.')
      .reduce<unknown>((found, name) => (found as Record<string, unknown>)[name], connected.client);
    expect(method).toBeInstanceOf(Function);
  });
});

it('can stand in for the operations of a scope, as its types say', async () => {
  const { client } = await connect();
  const scope: {
    endpoints: EndpointOperations;
    messages: MessageOperations;
    tenants: Omit<TenantOperations, 'setMetadata'>;
    send(...given: [Parameters<SenderScope['send']>[0]]): ReturnType<SenderScope['send']>;
  } & Pick<SenderScope, 'replay' | 'reconcile' | 'stats' | 'health'> = client;
  expect((await scope.endpoints.list()).endpoints).toEqual([]);
});
