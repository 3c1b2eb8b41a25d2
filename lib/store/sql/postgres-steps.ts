import { areCombined, claimStatement, insertStatements, updateStatement } from './postgres-statements.js';
import type { Operation, Steps } from './steps.js';

export interface Answer {
  rows: Record<string, unknown>[];
  /** null when the driver does not tell. */
  rowCount: number | null;
}

/** Runs one statement: its text as both databases share it, its values with a `$1` each. */
export type Execute = (text: string, values: readonly unknown[]) => Promise<Answer>;

export interface Drive {
  /** Waited for before anything is changed. */
  opening?: Promise<unknown> | undefined;
  /** Ends what the opening began, when all steps are made. */
  ending?: (() => Promise<unknown>) | undefined;
  /**
   * Whether a statement may be sent before the one before is answered: a first one that only reads is then sent with the
   * opening, and those whose answers tell nothing are awaited all together at the end. The first failure is the one that is
   * thrown, since the others follow from it. Where no more than one statement changes anything, the ending goes with it:
   * there is nothing that could be kept by half.
   */
  pipelines?: boolean;
}

/** Runs steps to their end, each statement awaited. */
export async function driveSteps<T>(
  steps: Steps<T>,
  execute: Execute,
  { opening, ending, pipelines = false }: Drive = {},
): Promise<T> {
  const ahead: Promise<unknown>[] = [];
  const perform = performer(execute, pipelines);
  let changes = 0;
  let ended = false;
  let value: T;
  opening?.catch(() => {});
  try {
    let step = steps.next();
    if (opening && pipelines && !step.done && onlyReads(step.value)) {
      const answer = perform(step.value);
      answer.catch(() => {});
      await opening;
      step = steps.next(await answer);
    }
    await opening;
    while (!step.done) {
      const answer = perform(step.value);
      changes += statementsThatChange(step.value);
      if (pipelines && (step.value.kind === 'inserts' || step.value.kind === 'command')) {
        answer.catch(() => {});
        ahead.push(answer);
        step = steps.next();
      } else step = steps.next(await answer);
    }
    if (ending && pipelines && changes <= 1) {
      ahead.push(ending());
      ended = true;
    }
    value = step.value;
  } finally {
    await inOrder(ahead);
  }
  if (!ended) await ending?.();
  return value;
}

/** Makes a transaction of one statement: where the driver pipelines, all of it is sent at once. */
export async function driveStatement(
  statement: () => Promise<Answer>,
  { opening, ending, pipelines = false }: Drive,
): Promise<Answer> {
  const all = [() => opening, statement, ending];
  const sent: (Promise<unknown> | undefined)[] = [];
  for (const send of all) {
    const answer = send?.();
    answer?.catch(() => {});
    sent.push(answer);
    if (!pipelines) await answer;
  }
  const [, answer] = await inOrder(sent);
  return answer as Answer;
}

/** How many statements of it change rows. */
function statementsThatChange(operation: Operation): number {
  switch (operation.kind) {
    case 'command':
      return 0;
    case 'inserts':
      return areCombined(operation.inserts) ? 1 : operation.inserts.length;
    case 'together':
      return operation.operations.reduce((sum, each) => sum + statementsThatChange(each), 0);
    default:
      return onlyReads(operation) ? 0 : 1;
  }
}

/** What does no harm where no transaction has begun. */
function onlyReads(operation: Operation): boolean {
  if (operation.kind === 'together') return operation.operations.every(onlyReads);
  if (operation.kind !== 'rows') return false;
  const text = operation.query.sql;
  return (
    /^\s*select\b/i.test(text) || (/^\s*with\b/i.test(text) && !/\b(?:insert|update|delete)\b/i.test(text))
  );
}

/** What was sent first fails first: the others, though they may be told sooner, follow from it. */
async function inOrder(sent: readonly (Promise<unknown> | undefined)[]): Promise<unknown[]> {
  for (const each of sent) each?.catch(() => {});
  const answers: unknown[] = [];
  for (const each of sent) answers.push(await each);
  return answers;
}

function performer(execute: Execute, pipelines: boolean): (operation: Operation) => Promise<unknown> {
  /** All of them, sent at once where the driver pipelines, each as soon as it is made. */
  async function all<T>(given: Iterable<T>, run: (each: T) => Promise<unknown>): Promise<unknown[]> {
    const sent: Promise<unknown>[] = [];
    for (const each of given) {
      const answer = run(each);
      answer.catch(() => {});
      sent.push(answer);
      if (!pipelines) await answer;
    }
    return inOrder(sent);
  }

  return async function perform(operation) {
    switch (operation.kind) {
      case 'rows':
        return (await execute(operation.query.sql, operation.query.parameters)).rows;
      case 'command':
        return void (await execute(operation.query.sql, operation.query.parameters));
      case 'changes': {
        const { rows, rowCount } = await execute(operation.query.sql, operation.query.parameters);
        return rowCount ?? rows.length;
      }
      case 'inserts':
        return void (await all(insertStatements(operation.inserts), ({ text, values }) =>
          execute(text, values),
        ));
      case 'claim': {
        const { claim, rows } = operation;
        const { text, values } = claimStatement(claim, rows);
        const claimed = new Set((await execute(text, values)).rows.map(({ identity }) => identity));
        const at = Object.keys(claim.columns).indexOf(claim.identity);
        return rows.map((row) => claimed.has(row[at]));
      }
      case 'update': {
        const { text, values } = updateStatement(operation.update, operation.rows);
        const changed = new Set((await execute(text, values)).rows.map(({ position }) => Number(position)));
        return operation.rows.map((_, index) => changed.has(index + 1));
      }
      case 'together':
        return all(operation.operations, perform);
    }
  };
}
