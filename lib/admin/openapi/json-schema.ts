import { z } from 'zod';
import { type ComponentNote, components } from '../schemas/component.js';

export type JsonSchema = Record<string, unknown>;

// Records have no transforms and no defaults, so that what is read and what is written are one.
const OPTIONS = { io: 'input', unrepresentable: 'any' } as const;

/** A reference to a schema that has a name; any other schema as it is. */
export function schemaFor(schema: z.ZodType): JsonSchema {
  const id = components.get(schema)?.id;
  return id === undefined ? plain(z.toJSONSchema(schema, OPTIONS)) : { $ref: refTo(id) };
}

/** Every schema that has a name, by its name. */
export function componentSchemas(): Record<string, JsonSchema> {
  const notes: Record<string, ComponentNote> = {};
  const { schemas } = z.toJSONSchema(components, {
    ...OPTIONS,
    uri: refTo,
    override({ zodSchema }) {
      const note = components.get(zodSchema);
      // A schema that was derived from a named one inherits its note, but not its name.
      if (note?.id) notes[note.id] = note;
    },
  });
  const names = Object.keys(schemas).sort();
  return Object.fromEntries(names.map((name) => [name, described(plain(schemas[name]!), notes[name]!)]));
}

function refTo(id: string): string {
  return `#/components/schemas/${id}`;
}

/** Notes are put in afterwards: within zod's pass a field that two objects share is one schema. */
function described(schema: JsonSchema, { description, fields = {}, examples }: ComponentNote): JsonSchema {
  const properties = { ...(schema.properties as Record<string, JsonSchema> | undefined) };
  for (const [name, text] of Object.entries(fields)) {
    properties[name] = { ...properties[name], description: text };
  }
  return {
    ...schema,
    ...(schema.properties !== undefined && { properties }),
    description,
    ...(examples && { examples }),
  };
}

function plain({ $schema: _dialect, $id: _uri, ...schema }: JsonSchema): JsonSchema {
  return tidy(schema) as JsonSchema;
}

/** Says the same in fewer words, and nothing that is about TypeScript or that every value of JSON is. */
function tidy(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(tidy);
  if (typeof value !== 'object' || value === null) return value;
  const node: JsonSchema = {};
  for (const [name, child] of Object.entries(value)) {
    const bound = name === 'minimum' || name === 'maximum';
    if (bound && Math.abs(child as number) === Number.MAX_SAFE_INTEGER) continue;
    if (name === 'readOnly' && child === true) continue;
    if (name === 'propertyNames' && JSON.stringify(child) === '{"type":"string"}') continue;
    node[name] = tidy(child);
  }
  return orNull(node) ?? node;
}

function orNull(node: JsonSchema): JsonSchema | undefined {
  const { anyOf, ...rest } = node;
  if (!Array.isArray(anyOf) || anyOf.length !== 2 || anyOf[1].type !== 'null') return undefined;
  const { type, enum: words, ...other } = anyOf[0] as JsonSchema;
  if (typeof type !== 'string' || 'const' in other) return undefined;
  const allowed = Array.isArray(words) ? { enum: [...words, null] } : undefined;
  return { type: [type, 'null'], ...allowed, ...other, ...rest };
}
