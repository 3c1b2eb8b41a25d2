import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { resolve } from 'node:path';
import { text } from 'node:stream/consumers';
import manifest from '../../package.json';
import { openApiDocument } from '../../lib/admin/openapi/document.js';
import { schemaFor } from '../../lib/admin/openapi/json-schema.js';
import { STATUS_BY_CODE } from '../../lib/admin/response.js';
import { ROUTES } from '../../lib/admin/routes.js';
import { verifySignature } from '../../lib/sender/verify-signature.js';
import { createAnswerCheck } from '../support/answer-check.js';

type Json = Record<string, unknown>;

const document = openApiDocument();
const { schemas, responses, examples } = document.components as Record<string, Record<string, Json>>;
const check = createAnswerCheck();

/** Every object in the document, with the JSON pointer to it. */
function* nodes(value: unknown, pointer = ''): Generator<[pointer: string, node: Json]> {
  if (typeof value !== 'object' || value === null) return;
  if (!Array.isArray(value)) yield [pointer, value as Json];
  for (const [name, child] of Object.entries(value)) {
    yield* nodes(child, `${pointer}/${name.replaceAll('~', '~0').replaceAll('/', '~1')}`);
  }
}

const operations = Object.entries(document.paths).flatMap(([path, item]) =>
  Object.entries(item).map(([method, operation]) => ({ path, method, operation: operation as Json })),
);

/** The routes that take a body, and the name of what they take. */
const inputs = ROUTES.flatMap(({ operation, input }) =>
  input ? [{ operation, input, schema: String(schemaFor(input).$ref).split('/').at(-1)! }] : [],
);

/** The examples of a schema, or of those that it is one of. */
function examplesOf(name: string): Json[] {
  const { examples: own = [], anyOf = [] } = schemas![name] as {
    examples?: Json[];
    anyOf?: { $ref: string }[];
  };
  return [...own, ...anyOf.flatMap(({ $ref }) => examplesOf($ref.split('/').at(-1)!))];
}

/** What an independent validator says of documents. It is an ES module, so a process of its own runs it. */
async function validate(...documents: unknown[]): Promise<boolean[]> {
  const script = `
    import { Validator } from '@seriousme/openapi-schema-validator';
    import { json } from 'node:stream/consumers';
    const found = [];
    for (const each of await json(process.stdin)) found.push((await new Validator().validate(each)).valid);
    console.log(JSON.stringify(found));`;
  const child = spawn(process.execPath, ['--input-type=module', '--eval', script], {
    cwd: resolve(__dirname, '../..'),
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  child.stdin.end(JSON.stringify(documents));
  const [said] = await Promise.all([text(child.stdout), once(child, 'close')]);
  return JSON.parse(said) as boolean[];
}

describe('openApiDocument', () => {
  it('is valid OpenAPI 3.1', async () => {
    const { info: _info, ...broken } = document;
    expect(await validate(document, broken)).toEqual([true, false]);
    expect(document.openapi).toBe('3.1.0');
  }, 30_000);

  it('has the same text each time', () => {
    expect(JSON.stringify(openApiDocument())).toBe(JSON.stringify(document));
  });

  it('has every route, and nothing else', () => {
    const listed = operations.map(
      ({ path, method, operation }) => `${method.toUpperCase()} ${path} ${operation.operationId}`,
    );
    const table = ROUTES.map(
      ({ method, path, operation }) => `${method} ${path.replace(/:(\w+)/g, '{$1}')} ${operation}`,
    );
    expect(listed.sort()).toEqual(table.sort());
  });

  it('takes a title, a version and a server', () => {
    const { info, servers } = openApiDocument({
      title: 'Hooks',
      version: '7',
      serverUrl: 'https://a.test/b',
    });
    expect(info).toMatchObject({ title: 'Hooks', version: '7' });
    expect(servers).toEqual([{ url: 'https://a.test/b' }]);
    expect(document.info.version).toBe(manifest.version);
    expect(document.servers).toEqual([{ url: '/' }]);
  });

  it('stays below 120 kB', () => {
    expect(JSON.stringify(document).length).toBeLessThan(120_000);
  });

  it('refers to nothing that is not there, and has nothing that nobody refers to', () => {
    const referred = new Set<string>();
    for (const [, { $ref }] of nodes(document)) if (typeof $ref === 'string') referred.add($ref);
    const there = Object.entries({ schemas, responses, examples }).flatMap(([kind, each]) =>
      Object.keys(each!).map((name) => `#/components/${kind}/${name}`),
    );
    expect([...referred].sort()).toEqual(there.sort());
  });

  it('says something of everything', () => {
    const tags = document.tags.map(({ name }) => name);
    const silent = [...nodes(document)].filter(([pointer, node]) => {
      if (/\/(examples?|example|default)\//.test(pointer)) return false;
      if ('operationId' in node)
        return !node.summary || !(node.tags as string[]).every((tag) => tags.includes(tag));
      const said = node.description ?? (typeof node.$ref === 'string' || undefined);
      const isField = /\/schemas\/\w+\/(.*\/)?properties\/[^/]+$/.test(pointer);
      return (isField || 'in' in node || /\/schemas\/[^/]+$/.test(pointer)) && !said;
    });
    expect(silent.map(([pointer]) => pointer)).toEqual([]);
    expect(tags.filter((tag) => !JSON.stringify(document).includes(`"tags":["${tag}"]`))).toEqual([]);
  });

  it('answers each status with codes of that status', () => {
    for (const { operation } of operations) {
      for (const [status, { $ref }] of Object.entries(operation.responses as Record<string, Json>)) {
        if (typeof $ref !== 'string') continue;
        const codes = $ref
          .slice('#/components/responses/'.length)
          .split('-') as (keyof typeof STATUS_BY_CODE)[];
        expect(codes.map((code) => STATUS_BY_CODE[code])).toEqual(codes.map(() => Number(status)));
      }
    }
  });

  it('documents a body exactly where a route takes one', () => {
    for (const { body = 'none', input, method, path, operation } of ROUTES) {
      const { requestBody } = operations.find((each) => each.operation.operationId === operation)!.operation;
      const expected = body !== 'none' && {
        required: body === 'required',
        content: { 'application/json': { schema: schemaFor(input!) } },
      };
      expect([method, path, requestBody ?? false]).toEqual([method, path, expected]);
    }
  });
});

describe('the examples of the document', () => {
  it.each(Object.entries(schemas!).filter(([, { examples }]) => examples))('of %s fit it', (name, schema) => {
    for (const example of schema.examples as unknown[])
      expect(check.misfit(`/components/schemas/${name}`, example)).toBeNull();
  });

  it.each(Object.entries(responses!))('of the response %s fit it', (name, response) => {
    const { content } = response as {
      content: Record<string, { examples: Record<string, { $ref: string }> }>;
    };
    for (const { $ref } of Object.values(content['application/json']!.examples)) {
      const { value } = examples![$ref.slice('#/components/examples/'.length)]!;
      const pointer = `/components/responses/${name}/content/application~1json/schema`;
      expect(check.misfit(pointer, value)).toBeNull();
    }
  });

  it('of parameters fit them', () => {
    let fitted = 0;
    for (const [pointer, node] of nodes(document)) {
      if (!('in' in node) || !('example' in node)) continue;
      const shown = pointer.split('/').map(encodeURIComponent).join('/');
      expect([pointer, check.misfit(`${shown}/schema`, node.example)]).toEqual([pointer, null]);
      fitted += 1;
    }
    expect(fitted).toBeGreaterThan(10);
  });

  it.each(inputs)('are read by $operation, and with an unknown field they are not', ({ input, schema }) => {
    const own = examplesOf(schema);
    expect(own.length).toBeGreaterThan(0);
    for (const example of own) {
      expect(input.safeParse(example)).toMatchObject({ success: true });
      expect(input.safeParse({ ...example, colour: 1 })).toMatchObject({ success: false });
      expect(check.misfit(`/components/schemas/${schema}`, { ...example, colour: 1 })).not.toBeNull();
    }
  });

  it('of the webhook are signed by the example secret', () => {
    const { post } = document.webhooks.message as { post: Json };
    const headers = Object.fromEntries(
      (post.parameters as { name: string; example: string }[]).map(({ name, example }) => [name, example]),
    );
    const [payload] = schemas!.Payload!.examples as unknown[];
    const [{ secret }] = schemas!.SymmetricKey!.examples as [{ secret: string }];
    const now = () => Date.parse('2026-01-15T12:00:00Z');
    const { id } = verifySignature({ headers, body: JSON.stringify(payload), secret, now });
    expect(id).toBe(headers['webhook-id']);
  });
});

describe('what the document says of input', () => {
  it.each([
    ['EndpointCreate', {}, 'url'],
    ['EndpointCreate', { url: 'https://a.test', types: 'a' }, 'types'],
    ['EndpointCreate', { url: 'https://a.test', types: [] }, 'types'],
    ['EndpointCreate', { url: 'https://a.test', headers: { a: 1 } }, 'headers'],
    ['EndpointCreate', { url: 'https://a.test', metadata: [] }, 'metadata'],
    ['EndpointCreate', { url: 'https://a.test', filter: { dataPath: 'a' } }, 'filter'],
    ['EndpointUpdate', { timeoutMs: 10 }, 'timeoutMs'],
    ['SecretRotation', { overlapSeconds: -1 }, 'overlapSeconds'],
    ['MessageInput', { type: 'a' }, 'data'],
    ['MessageInput', { type: 'a b', data: 1 }, 'type'],
    ['RangeReplay', { endpointId: 'ep_1', since: '2026-01-01', status: 'dead' }, 'status'],
    ['RangeReplay', { endpointId: 'ep_1', since: '2026-01-01', limit: 0 }, 'limit'],
    ['RateLimitSetting', { perSecond: 0 }, 'perSecond'],
  ])('%s does not fit %j', (name, value, field) => {
    expect(check.misfit(`/components/schemas/${name}`, value)).toContain(field);
  });
});
