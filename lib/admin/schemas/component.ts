import { z } from 'zod';

/** What the OpenAPI document says of a schema beside its shape. */
export interface ComponentNote {
  /** Its name under `components.schemas`. */
  id: string;
  description: string;
  /** What its fields mean, where the schema itself does not say so. */
  fields?: Readonly<Record<string, string>>;
  examples?: readonly unknown[];
}

/**
 * The schemas that have a name in the OpenAPI document. A registry of our own: in zod's global one the names would
 * clash with those of the application, and of another copy of this package.
 */
export const components = z.registry<ComponentNote>();

/** Names a schema. Its examples are checked against its type, and its fields, where they are told, must be complete. */
export function component<S extends z.ZodType>(
  schema: S,
  note: ComponentNote & {
    fields?: Readonly<Record<keyof z.input<S> & string, string>>;
    examples?: readonly z.input<S>[];
  },
): S {
  components.add(schema, note);
  return schema;
}

type Flat<T> = { [Name in keyof T]: T[Name] };
type Same<A, B> =
  (<T>() => T extends Flat<A> ? 1 : 2) extends <T>() => T extends Flat<B> ? 1 : 2 ? true : false;

/**
 * The schema of a record, which must be of the record's exact type: one that lacks a field, has another or reads one
 * differently does not compile. The record stays the interface it is, so that whoever uses it needs no zod.
 */
export function schemaOf<T>() {
  return <S extends z.ZodType<T>>(schema: S & (Same<z.output<S>, T> extends true ? unknown : never)): S =>
    schema;
}

/** A time as every record writes it. */
export const time = z
  .string()
  .regex(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/)
  .meta({ format: 'date-time' });

/** A JSON object of the application's own. */
export const freeForm = z.record(z.string(), z.unknown());

export const nextCursor = z
  .string()
  .nullable()
  .describe(
    'Pass it back as `cursor`, with the same filters, for the next page; null on the last one. A page that is short, or empty, need not be the last.',
  );

/** What the examples have in common: together they are one story, whose signature verifies. */
export const EXAMPLE = {
  endpointId: 'ep_01jf0odng08k2vqg4t5u6b7c8d',
  messageId: 'msg_01jf0odng08k2vqg4t5u6b7c8d',
  secret: 'whsec_YW4gZXhhbXBsZSwgb2YgMzIgYnl0ZXMsIG5vIG1vcmU=',
  payload: {
    type: 'invoice.paid',
    timestamp: '2026-01-15T12:00:00.000Z',
    data: { id: 'inv_1', total: 4200 },
  },
};
