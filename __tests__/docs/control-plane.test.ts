import { readFile } from 'node:fs/promises';
import { z } from 'zod';
import { STATUS_BY_CODE } from '../../lib/admin/response.js';
import { ROUTES } from '../../lib/admin/routes.js';
import { attempt, messageDetail } from '../../lib/admin/schemas/message.js';
import { endpoint } from '../../lib/admin/schemas/endpoint.js';
import { caller } from '../../lib/admin/schemas/caller.js';
import { attemptStats, endpointStats } from '../../lib/admin/schemas/stats.js';
import { tenant } from '../../lib/admin/schemas/tenant.js';
import { openApiDocument } from '../../lib/index.js';
import { endpointCreate } from '../../lib/model/endpoint.js';
import { replayInput } from '../../lib/model/replay.js';
import { liveServer } from './live-server.js';
import { codeSpans, membersOf, readPage, tableRows } from './page.js';
import { type Check, pageContract } from './page-contract.js';

const page = readPage('docs/control-plane.md');

describe('docs/control-plane.md', () => {
  pageContract(page, { checks: checks() });

  it('lists every route, with its operation', () => {
    expect(tableRows(page, 'route').map(([route, operation]) => `${route} ${operation}`)).toEqual(
      ROUTES.map(({ method, path, operation }) => `${method} ${path} ${operation}`),
    );
  });

  it.each(ROUTES.map((route) => [route.operation, route] as const))(
    'says what %s takes, and by what status it answers',
    (_, { operation, query, input, answers }) => {
      const [, , takes, gives] = tableRows(page, 'route').find(([, name]) => name === operation)!;
      if (query) expect(takes!.split(' ').sort()).toEqual(Object.keys(query).sort());
      // Where it is told by a sentence, the fields stand in a table of their own.
      else if (/^[\w ]+$/.test(takes!)) expect(takes!.split(' ').sort()).toEqual(fieldsOf(input));
      else if (takes === '') expect(input).toBeUndefined();
      for (const status of Object.keys(answers)) if (status !== '200') expect(gives).toContain(status);
    },
  );

  it('lists every field of an endpoint', () => {
    const listed = tableRows(page, 'field').flatMap(([fields]) => fields!.split(' '));
    expect(listed.sort()).toEqual(Object.keys(endpointCreate.shape).sort());
  });

  it('lists every field of a replay', () => {
    const listed = tableRows(page, 'replay of').map(([, fields]) => fields!.split(' ').sort());
    expect(listed).toEqual(
      [replayInput.message, replayInput.range].map(({ shape }) => Object.keys(shape).sort()),
    );
  });

  it.each(Object.entries({ attempt, messageDetail, endpoint, endpointStats, attemptStats, caller, tenant }))(
    'names every field of the record %s, and every word that it may hold',
    (_, schema) => {
      const spans = codeSpans(page).flatMap((code) => code.match(/\w+/g) ?? []);
      const missing = namesIn(z.toJSONSchema(schema, { unrepresentable: 'any' })).filter(
        (name) => !spans.includes(name),
      );
      expect(missing).toEqual([]);
    },
  );

  it('lists every option of the control plane', () => {
    const listed = tableRows(page, 'option').map(([name]) => name);
    expect(listed.sort()).toEqual(membersOf('lib/admin/handler.ts', 'AdminHandlerOptions').sort());
  });

  it('lists every error code with its status', () => {
    const listed = tableRows(page, 'code').map(([code, status]) => [code, Number(status)]);
    expect(Object.fromEntries(listed)).toEqual(STATUS_BY_CODE);
  });
});

function fieldsOf(input: z.ZodType | undefined): string[] {
  const { properties = {} } = z.toJSONSchema(input ?? z.object({}), { io: 'input', unrepresentable: 'any' });
  return Object.keys(properties).sort();
}

/** The properties of a JSON schema and of what is in it, and the words that are allowed as values. */
function namesIn(schema: unknown): string[] {
  if (typeof schema !== 'object' || schema === null) return [];
  const { properties = {}, enum: words = [] } = schema as { properties?: object; enum?: string[] };
  return [
    ...Object.keys(properties),
    ...words,
    ...[...Object.values(schema), ...Object.values(properties)].flatMap((each) =>
      Array.isArray(each) ? each.flatMap(namesIn) : namesIn(each),
    ),
  ];
}

function checks(): Check[] {
  return [
    {
      mark: 'openApiDocument',
      async run({ values }) {
        const written = JSON.parse(await readFile('openapi.json', 'utf8'));
        expect(written).toEqual(values.document);
        expect(written).toMatchObject({
          ...openApiDocument(),
          info: { title: 'Webhooks of Acme' },
          servers: [{ url: 'https://app.example.com/admin' }],
        });
      },
    },
    {
      mark: 'createAdminClient',
      async run({ values, log }) {
        const { sender } = await liveServer();
        expect(await sender.endpoints.get(values.id as string)).toMatchObject({ tenantId: 'acme' });
        expect(values).toMatchObject({ secret: expect.stringMatching(/^whsec_/) });
        expect(log.warn.mock.calls).toEqual([
          [expect.any(String), { issues: [expect.objectContaining({ path: 'since' })] }],
        ]);
      },
    },
  ];
}
