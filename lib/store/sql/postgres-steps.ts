import { claimStatement, insertStatement, updateStatement } from './postgres-statements.js';
import type { Operation, Steps } from './steps.js';

export interface Answer {
  rows: Record<string, unknown>[];
  /** null when the driver does not tell. */
  rowCount: number | null;
}

/** Runs one statement: its text as both databases share it, its values with a `$1` each. */
export type Execute = (text: string, values: readonly unknown[]) => Promise<Answer>;

interface Drive {
  /** Waited for before anything is changed. */
  opening?: Promise<unknown> | undefined;
  /**
   * Whether a statement may be sent before the one before is answered: a first one that only reads is then sent with the
   * opening, and those whose answers tell nothing are awaited all together at the end. The first failure is the one that is
   * thrown, since the others follow from it.
   */
  pipelines?: boolean;
}

/** Runs steps to their end, each statement awaited. */
export async function driveSteps<T>(
  steps: Steps<T>,
  execute: Execute,
  { opening, pipelines = false }: Drive = {},
): Promise<T> {
  const ahead: Promise<unknown>[] = [];
  opening?.catch(() => {});
  try {
    let step = steps.next();
    if (opening && pipelines && !step.done && onlyReads(step.value)) {
      const answer = perform(step.value, execute);
      answer.catch(() => {});
      await opening;
      step = steps.next(await answer);
    }
    await opening;
    while (!step.done) {
      const answer = perform(step.value, execute);
      if (pipelines && (step.value.kind === 'insert' || step.value.kind === 'command')) {
        answer.catch(() => {});
        ahead.push(answer);
        step = steps.next();
      } else step = steps.next(await answer);
    }
    return step.value;
  } finally {
    await Promise.all(ahead);
  }
}

/** What does no harm where no transaction has begun. */
function onlyReads(operation: Operation): boolean {
  if (operation.kind !== 'rows') return false;
  const text = operation.query.sql;
  return (
    /^\s*select\b/i.test(text) || (/^\s*with\b/i.test(text) && !/\b(?:insert|update|delete)\b/i.test(text))
  );
}

async function perform(operation: Operation, execute: Execute): Promise<unknown> {
  switch (operation.kind) {
    case 'rows':
      return (await execute(operation.query.sql, operation.query.parameters)).rows;
    case 'command':
      return void (await execute(operation.query.sql, operation.query.parameters));
    case 'changes': {
      const { rows, rowCount } = await execute(operation.query.sql, operation.query.parameters);
      return rowCount ?? rows.length;
    }
    case 'insert': {
      const { text, values } = insertStatement(operation.insert, operation.rows);
      return void (await execute(text, values));
    }
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
  }
}
