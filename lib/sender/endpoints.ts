import type { z } from 'zod';
import { endpointCreate, endpointUpdate, secretRotation, unknownEndpointField } from '../model/endpoint.js';
import { type Issue, isHookplaneError, validationError } from '../model/errors.js';
import { createId } from '../model/ids.js';
import { isPlainObject, parseInput } from '../model/input.js';
import type { EndpointOperations } from '../model/scope.js';
import { isoTime } from '../model/time.js';
import type { EndpointSettings, LiveSecret, NewAuditEntry, TenantScope } from '../store/store.js';
import { type Auditor, fieldNames } from './audit.js';
import type { SenderCore } from './core.js';
import { decodeCursor, encodeCursor, type Listing, pageLimit } from './cursor.js';
import { historyOperations } from './endpoint-history.js';
import { testOperation } from './endpoint-test.js';
import { checkSecret, generateSymmetric } from './keys.js';
import { endpointNotFound, narrowTenant } from './scope-rules.js';

const WHAT = 'The endpoint';

export function endpointOperations(
  core: SenderCore,
  tenant: TenantScope,
  audit: Auditor | undefined,
): EndpointOperations {
  const { now } = core.options;
  return {
    async list(request = {}) {
      const { status, tenantId } = request;
      const listing: Listing = { name: 'endpoints', filters: { status, tenantId } };
      const page = await (await core.ready()).endpoints.list({
        tenant: narrowTenant(tenant, tenantId),
        status,
        after: decodeCursor(listing, request.cursor),
        limit: pageLimit(request.limit),
      });
      return { endpoints: page.rows, nextCursor: encodeCursor(listing, page.next) };
    },

    async create(input) {
      const further = [...urlIssues(core, textOf(input, 'url')), ...secretIssues(textOf(input, 'secret'))];
      const named = isPlainObject(input) ? input.tenantId : undefined;
      if (tenant !== undefined && named !== undefined && named !== tenant) {
        further.push({ path: 'tenantId', message: 'is not the tenant of the caller: leave it out' });
      }
      const read = readEndpoint(endpointCreate, input, further);
      const { secret: given, tenantId, ...fields } = read;
      const secret = given ?? generateSymmetric().secret;
      const at = now();
      const id = createId('ep', at);
      const endpoint = await (await core.ready()).endpoints.insert(
        {
          ...DEFAULTS,
          ...settingsOf(core, fields),
          id,
          tenantId: tenant ?? tenantId ?? null,
        },
        core.secrets.seal(id, { id: createId('sec', at), secret }),
        at,
        audit?.('endpoints.create', id, fieldNames(read)),
      );
      return { ...endpoint, secret };
    },

    async get(id) {
      return (await (await core.ready()).endpoints.get(tenant, id)) ?? endpointNotFound(id);
    },

    async update(id, input) {
      const store = await core.ready();
      // Whether there is such an endpoint comes first, so that a wrong body says nothing about a foreign one.
      const endpoint = (await store.endpoints.get(tenant, id)) ?? endpointNotFound(id);
      const fields = readEndpoint(endpointUpdate, input, urlIssues(core, textOf(input, 'url')));
      const names = fieldNames(fields);
      if (names.length === 0) return endpoint;
      const updated = await store.endpoints.update(
        tenant,
        id,
        settingsOf(core, fields),
        now(),
        audit?.('endpoints.update', id, names),
      );
      core.recall();
      return updated ?? endpointNotFound(id);
    },

    async delete(id) {
      const { endpoints } = await core.ready();
      const deleted = await endpoints.delete(tenant, id, now(), audit?.('endpoints.delete', id));
      core.recall();
      if (!deleted) endpointNotFound(id);
    },

    async disable(id) {
      const { endpoints } = await core.ready();
      const paused = audit?.('endpoints.disable', id, ['status']);
      const endpoint = await endpoints.pause(tenant, id, 'manual', now(), paused);
      core.recall();
      return endpoint ?? endpointNotFound(id);
    },

    async enable(id) {
      const { endpoints } = await core.ready();
      const resumed = audit?.('endpoints.enable', id, ['status']);
      const endpoint = await endpoints.resume(tenant, id, now(), resumed);
      core.wake();
      return endpoint ?? endpointNotFound(id);
    },

    async rotateSecret(id, input = {}) {
      const store = await core.ready();
      if (!(await store.endpoints.get(tenant, id))) endpointNotFound(id);
      const rotation = parseInput(
        secretRotation,
        input,
        'ENDPOINT_VALIDATION',
        'The rotation',
        () => 'is not a field of a rotation',
      );
      const issues = secretIssues(rotation.secret);
      if (issues.length > 0) throw validationError('ENDPOINT_VALIDATION', 'The rotation', issues);
      const secret = rotation.secret ?? generateSymmetric().secret;
      const at = now();
      const previousUntil = at + rotation.overlapSeconds * 1000;
      if (rotation.overlapSeconds > 0) {
        // One that cannot be opened would fail every attempt until its overlap ends.
        const live = (await store.endpoints.secrets(tenant, id, at)) ?? endpointNotFound(id);
        for (const each of live) core.secrets.open(id, each);
      }
      const endpoint = await store.endpoints.rotateSecret(
        tenant,
        id,
        core.secrets.seal(id, { id: createId('sec', at), secret }),
        previousUntil,
        at,
        audit?.('endpoints.rotateSecret', id, ['secret']),
      );
      core.recall();
      return endpoint
        ? { ...endpoint, secret, previousSecretExpiresAt: isoTime(previousUntil) }
        : endpointNotFound(id);
    },

    async secret(id) {
      const store = await core.ready();
      const open = async (shown?: NewAuditEntry): Promise<LiveSecret[]> => {
        const live = (await store.endpoints.secrets(tenant, id, now(), shown)) ?? endpointNotFound(id);
        return live.map((each) => ({ ...each, secret: core.secrets.open(id, each) }));
      };
      // Opened before it is recorded: what cannot be opened is not shown.
      if (audit) await open();
      const live = await open(audit?.('endpoints.secret', id));
      const current = live.find(({ expiresAt }) => expiresAt === null);
      return {
        secret: current?.secret ?? endpointNotFound(id),
        previousSecrets: live.flatMap(({ secret, expiresAt }) =>
          expiresAt === null ? [] : { secret, expiresAt: isoTime(expiresAt) },
        ),
      };
    },

    test: testOperation(core, tenant, audit),
    ...historyOperations(core, tenant),
  };
}

const DEFAULTS: EndpointSettings = {
  url: '',
  description: null,
  types: null,
  channels: null,
  filter: null,
  headers: {},
  metadata: {},
  retry: null,
  rateLimit: null,
  maxInFlight: null,
  timeoutMs: null,
};

/** Reads the body of a create or an update; every issue is told at once, those the schema cannot know as well. */
function readEndpoint<Fields>(schema: z.ZodType<Fields>, input: unknown, further: readonly Issue[]): Fields {
  const issues: Issue[] = [];
  try {
    const fields = parseInput(schema, input, 'ENDPOINT_VALIDATION', WHAT, unknownEndpointField);
    if (further.length === 0) return fields;
  } catch (error) {
    if (!isHookplaneError(error)) throw error;
    issues.push(...(error.issues ?? []));
  }
  const told = new Set(issues.map(({ path }) => path));
  issues.push(...further.filter(({ path }) => !told.has(path)));
  throw validationError('ENDPOINT_VALIDATION', WHAT, issues);
}

function textOf(input: unknown, field: string): string | undefined {
  const value = isPlainObject(input) ? input[field] : undefined;
  return typeof value === 'string' ? value : undefined;
}

type Fields = Partial<Omit<ReturnType<typeof endpointCreate.parse>, 'secret' | 'tenantId'>>;

/** The given fields, with what null means for each. */
function settingsOf(core: SenderCore, fields: Fields): Partial<EndpointSettings> {
  const settings: Partial<EndpointSettings> = {};
  for (const [name, value] of Object.entries(fields)) {
    if (value !== undefined)
      Object.assign(settings, { [name]: value ?? DEFAULTS[name as keyof EndpointSettings] });
  }
  if (fields.url !== undefined) {
    const checked = core.guard.checkUrl(fields.url);
    if ('url' in checked) settings.url = checked.url;
  }
  return settings;
}

function urlIssues(core: SenderCore, url: string | undefined): Issue[] {
  if (url === undefined) return [];
  const checked = core.guard.checkUrl(url);
  return 'problem' in checked ? [{ path: 'url', message: checked.problem }] : [];
}

function secretIssues(secret: string | undefined): Issue[] {
  const problem = secret === undefined ? null : checkSecret(secret);
  return problem === null ? [] : [{ path: 'secret', message: problem }];
}
