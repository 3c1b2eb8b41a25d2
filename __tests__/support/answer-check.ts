import Ajv2020, { type ValidateFunction } from 'ajv/dist/2020.js';
import addFormats from 'ajv-formats';
import { openApiDocument } from '../../lib/admin/openapi/document.js';
import { STATUS_BY_CODE, type Answer } from '../../lib/admin/response.js';
import type { Route } from '../../lib/admin/route.js';
import { createRouter } from '../../lib/admin/router.js';
import { ROUTES } from '../../lib/admin/routes.js';

type Json = Record<string, unknown>;

interface Reply extends Json {
  headers?: Record<string, { required?: boolean }>;
  content?: Record<string, { schema: Json }>;
}

const NAMES = ['GET', 'HEAD', 'POST', 'PATCH', 'DELETE', 'PUT'];
const ROOT = 'document';
/** They hold values, not schemas. */
const VALUES = new Set(['example', 'examples', 'default', 'enum', 'const']);

/** Judges answers of the control plane by the OpenAPI document. */
export interface AnswerCheck {
  /** What is wrong with an answer to a request for a path below the mount; null when nothing is. */
  problem(method: string, path: string | null, answer: Answer): string | null;
  /** What is wrong with a value that should fit the schema at a JSON pointer into the document. */
  misfit(pointer: string, value: unknown): string | null;
}

/** Compiles each schema when it is first needed. */
export function createAnswerCheck(): AnswerCheck {
  const document = closed(openApiDocument(), false) as ReturnType<typeof openApiDocument>;
  const router = createRouter(ROUTES);
  const ajv = new Ajv2020({ strict: false, validateSchema: false });
  addFormats(ajv);
  ajv.addSchema(document, ROOT);
  const compiled = new Map<string, ValidateFunction>();

  function misfit(pointer: string, value: unknown): string | null {
    let validate = compiled.get(pointer);
    if (!validate) {
      validate = ajv.getSchema(`${ROOT}#${pointer}`);
      if (!validate) throw new Error(`The document has nothing at ${pointer}`);
      compiled.set(pointer, validate);
    }
    return validate(value) ? null : ajv.errorsText(validate.errors, { dataVar: 'body' });
  }

  function replyTo(route: Route, status: number): { pointer: string; reply: Reply } | undefined {
    const path = route.path.replace(/:(\w+)/g, '{$1}');
    const method = route.method.toLowerCase();
    const responses = document.paths[path]?.[method]?.responses as Record<string, Reply> | undefined;
    const reply = responses?.[status];
    if (!reply) return undefined;
    if (typeof reply.$ref === 'string') {
      const name = reply.$ref.slice('#/components/responses/'.length);
      return { pointer: `/components/responses/${name}`, reply: document.components.responses![name]! };
    }
    return { pointer: `/paths/${escaped(path)}/${method}/responses/${status}`, reply };
  }

  function problemOfRoute(route: Route, isHead: boolean, { status, headers, body }: Answer): string | null {
    const documented = replyTo(route, status);
    if (!documented) return 'has no such status in the document';
    const { pointer, reply } = documented;
    const absent = Object.entries(reply.headers ?? {})
      .filter(([name, { required }]) => required && !(name.toLowerCase() in headers))
      .map(([name]) => name);
    if (absent.length > 0) return `lacks the header ${absent.join(', ')}`;
    if (isHead) return null;
    const [type] = Object.keys(reply.content ?? {});
    if (type === undefined) return body === null ? null : 'has a body, and none in the document';
    if (body === null) return 'has no body, but one in the document';
    if (!headers['content-type']?.startsWith(type)) return `is ${headers['content-type']}, and not ${type}`;
    if (type !== 'application/json') return null;
    return misfit(`${pointer}/content/${escaped(type)}/schema`, JSON.parse(body));
  }

  function problemElsewhere(isHead: boolean, { status, body }: Answer): string | null {
    if (isHead) return null;
    const error = JSON.parse(body ?? 'null') as { errorCode: keyof typeof STATUS_BY_CODE };
    const bad = misfit('/components/schemas/Error', error);
    return (
      bad ?? (STATUS_BY_CODE[error.errorCode] === status ? null : 'has a status that is not of its code')
    );
  }

  return {
    misfit,
    problem(method, path, answer) {
      const match = path === null ? undefined : router.match(method, path);
      const isHead = method === 'HEAD';
      const problem =
        match?.kind === 'route'
          ? problemOfRoute(match.route, isHead, answer)
          : problemElsewhere(isHead, answer);
      if (problem === null) return null;
      const name = match?.kind === 'route' ? match.route.operation : 'no route';
      const shown = NAMES.includes(method) ? method : 'A request';
      return `${shown} ${path} (${name}) was answered ${answer.status}, which ${problem}: ${answer.body}`;
    },
  };
}

/**
 * The document, with every object closed: readers of it are told to expect more fields, but a field that is answered
 * and not in it was forgotten. `open` is for what others are composed of by `allOf`, which sees one part at a time.
 */
function closed(node: unknown, open: boolean): unknown {
  if (Array.isArray(node)) return node.map((item) => closed(item, false));
  if (typeof node !== 'object' || node === null) return node;
  const copy: Json = {};
  for (const [name, child] of Object.entries(node)) {
    copy[name] = VALUES.has(name)
      ? child
      : name === 'allOf'
        ? (child as unknown[]).map((part) => closed(part, true))
        : name === 'schemas'
          ? Object.fromEntries(Object.entries(child).map(([id, schema]) => [id, closed(schema, true)]))
          : closed(child, false);
  }
  const { $ref, properties, allOf, additionalProperties } = copy;
  const composite = String($ref).startsWith('#/components/schemas/') || properties || allOf;
  if (composite && !open && additionalProperties === undefined) copy.unevaluatedProperties = false;
  return copy;
}

function escaped(name: string): string {
  return encodeURIComponent(name.replaceAll('~', '~0').replaceAll('/', '~1'));
}
