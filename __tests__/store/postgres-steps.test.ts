import { postgresStore } from '../../lib/store/postgres.js';
import { driveSteps } from '../../lib/store/sql/postgres-steps.js';
import { type BulkInsert, insertRows, type RowsOf, type Steps, together } from '../../lib/store/sql/steps.js';
import { addEndpoint, addMessage, newMessage } from '../contracts/store/fixtures.js';
import { onCleanUp } from '../support/clean-up.js';
import { createDatabase } from '../support/postgres/database.js';
import { eventually } from '../support/wait-for.js';

const rowsOf = (table: BulkInsert['table'], rows: string[][]): RowsOf => ({
  into: { table, columns: { id: 'text' } },
  count: rows.length,
  rows: () => rows,
});

function* twoInserts(): Steps<string> {
  yield* insertRows(rowsOf('hookplane_messages', [['one']]));
  yield* insertRows(rowsOf('hookplane_tenants', [['two']]));
  return 'done';
}

/** What was asked, in turn; each is answered by hand. */
function asked() {
  const queries: { text: string; answer(): void; fail(error: Error): void }[] = [];
  const execute = (text: string) =>
    new Promise<{ rows: []; rowCount: null }>((resolve, reject) => {
      queries.push({ text, answer: () => resolve({ rows: [], rowCount: null }), fail: reject });
    });
  return { queries, execute };
}

describe('steps', () => {
  it('that tell nothing keep nobody waiting where the driver pipelines, and are over when all are answered', async () => {
    const { queries, execute } = asked();
    let isOver = false;
    const run = driveSteps(twoInserts(), execute, { pipelines: true }).finally(() => {
      isOver = true;
    });
    await eventually(() => expect(queries).toHaveLength(2));
    queries[1]!.answer();
    await new Promise((resolve) => setImmediate(resolve));
    expect(isOver).toBe(false);
    queries[0]!.answer();
    expect(await run).toBe('done');
  });

  it('are awaited one by one where it does not', async () => {
    const { queries, execute } = asked();
    const run = driveSteps(twoInserts(), execute);
    await new Promise((resolve) => setImmediate(resolve));
    expect(queries).toHaveLength(1);
    queries[0]!.answer();
    await eventually(() => expect(queries).toHaveLength(2));
    queries[1]!.answer();
    expect(await run).toBe('done');
  });

  it('fail by what failed first, not by what that made fail', async () => {
    const { queries, execute } = asked();
    const run = driveSteps(
      (function* (): Steps<void> {
        yield* insertRows(rowsOf('hookplane_messages', [['one']]));
        yield { kind: 'rows', query: { sql: 'select 1', parameters: [] } as never };
      })(),
      execute,
      { pipelines: true },
    );
    await eventually(() => expect(queries).toHaveLength(2));
    queries[0]!.fail(new Error('the cause'));
    queries[1]!.fail(new Error('what follows'));
    await expect(run).rejects.toThrow('the cause');
  });
});

describe('inserts into several tables', () => {
  const rows = (count: number) => Array.from({ length: count }, (_, index) => [`${index}`]);
  function* inserts(count: number): Steps<string> {
    yield* insertRows(
      rowsOf('hookplane_messages', rows(count)),
      rowsOf('hookplane_audit_log', []),
      rowsOf('hookplane_tenants', rows(1)),
    );
    return 'done';
  }

  it('are one statement where they are of few rows', async () => {
    const { queries, execute } = asked();
    const run = driveSteps(inserts(64), execute);
    await eventually(() => expect(queries).toHaveLength(1));
    expect(queries.map(({ text }) => text)).toEqual([
      'with i0 as (insert into hookplane_messages ("id") select r.* from unnest($1::text[]) as r) ' +
        'insert into hookplane_tenants ("id") select $2::text',
    ]);
    queries[0]!.answer();
    expect(await run).toBe('done');
  });

  it('are one for each table where one has many, sent one after the other or at once', async () => {
    const { queries, execute } = asked();
    const run = driveSteps(inserts(65), execute);
    await eventually(() => expect(queries).toHaveLength(1));
    queries[0]!.answer();
    await eventually(() => expect(queries).toHaveLength(2));
    queries[1]!.answer();
    expect(await run).toBe('done');
    const ahead = asked();
    const pipelined = driveSteps(inserts(65), ahead.execute, { pipelines: true });
    await eventually(() => expect(ahead.queries).toHaveLength(2));
    for (const query of ahead.queries) query.answer();
    expect(await pipelined).toBe('done');
  });

  it('have the rows of one table made while the server has those of another', async () => {
    const { queries, execute } = asked();
    const made: string[] = [];
    const told = (table: BulkInsert['table']): RowsOf => ({
      ...rowsOf(table, rows(65)),
      rows() {
        made.push(`${table} after ${queries.length}`);
        return rows(65);
      },
    });
    const steps = insertRows(told('hookplane_messages'), told('hookplane_tenants'));
    const run = driveSteps(steps, execute, { pipelines: true });
    await eventually(() => expect(queries).toHaveLength(2));
    expect(made).toEqual(['hookplane_messages after 0', 'hookplane_tenants after 1']);
    for (const query of queries) query.answer();
    await run;
  });
});

describe('steps that are made together', () => {
  function* selects(...names: string[]): Steps<string> {
    for (const name of names)
      yield { kind: 'rows', query: { sql: `select ${name}`, parameters: [] } as never };
    return names.join();
  }
  function* all(): Steps<readonly string[]> {
    return yield* together(selects('a', 'b'), selects(), selects('c'));
  }

  it('are asked at once where the driver pipelines, each of them in its own order', async () => {
    const { queries, execute } = asked();
    const opening = Promise.resolve();
    const run = driveSteps(all(), execute, { opening, pipelines: true });
    expect(queries.map(({ text }) => text)).toEqual(['select a', 'select c']);
    queries[1]!.answer();
    queries[0]!.answer();
    await eventually(() => expect(queries).toHaveLength(3));
    expect(queries[2]!.text).toBe('select b');
    queries[2]!.answer();
    expect(await run).toEqual(['a,b', '', 'c']);
  });

  it('are awaited one by one where it does not', async () => {
    const { queries, execute } = asked();
    const run = driveSteps(all(), execute);
    for (const [index, name] of ['a', 'c', 'b'].entries()) {
      await eventually(() => expect(queries).toHaveLength(index + 1));
      expect(queries[index]!.text).toBe(`select ${name}`);
      queries[index]!.answer();
    }
    expect(await run).toEqual(['a,b', '', 'c']);
  });

  it('fail by what was sent first, though others are told sooner', async () => {
    const { queries, execute } = asked();
    const run = driveSteps(all(), execute, { opening: Promise.resolve(), pipelines: true });
    expect(queries).toHaveLength(2);
    queries[1]!.fail(new Error('what follows'));
    await new Promise((resolve) => setImmediate(resolve));
    queries[0]!.fail(new Error('the cause'));
    await expect(run).rejects.toThrow('the cause');
  });

  it('count as often as they change something, for the end of the transaction', async () => {
    const { queries, execute } = asked();
    const two = together(
      insertRows(rowsOf('hookplane_messages', [['one']])),
      insertRows(rowsOf('hookplane_tenants', [['two']])),
    );
    const run = driveSteps(two, execute, { ending: () => execute('commit'), pipelines: true });
    await eventually(() => expect(queries).toHaveLength(2));
    queries[0]!.answer();
    await new Promise((resolve) => setImmediate(resolve));
    expect(queries).toHaveLength(2);
    queries[1]!.answer();
    await eventually(() => expect(queries.at(-1)!.text).toBe('commit'));
    queries[2]!.answer();
    await run;
  });

  it('wait for the opening where one of them changes something', async () => {
    const { queries, execute } = asked();
    function* changes(): Steps<void> {
      yield* together(selects('a'), insertRows(rowsOf('hookplane_messages', rows)));
    }
    const rows = [['one']];
    const opening = Promise.reject(new Error('no transaction'));
    await expect(driveSteps(changes(), execute, { opening, pipelines: true })).rejects.toThrow(
      'no transaction',
    );
    expect(queries).toHaveLength(0);
  });
});

describe('the opening of a transaction', () => {
  function* readsFirst(): Steps<string> {
    yield { kind: 'rows', query: { sql: ' select 1', parameters: [] } as never };
    yield* insertRows(rowsOf('hookplane_messages', [['one']]));
    return 'done';
  }
  const turnOfLoop = () => new Promise((resolve) => setImmediate(resolve));
  function opened() {
    let settle = { resolve: () => {}, reject: (_error: Error) => {} };
    const opening = new Promise<void>((resolve, reject) => {
      settle = { resolve, reject };
    });
    return { opening, ...settle };
  }

  it('goes with a first statement that only reads; what changes something waits for both', async () => {
    const { queries, execute } = asked();
    const { opening, resolve } = opened();
    const run = driveSteps(readsFirst(), execute, { opening, pipelines: true });
    expect(queries.map(({ text }) => text)).toEqual([' select 1']);
    queries[0]!.answer();
    await turnOfLoop();
    expect(queries).toHaveLength(1);
    resolve();
    await eventually(() => expect(queries).toHaveLength(2));
    queries[1]!.answer();
    expect(await run).toBe('done');
  });

  function* changesFirst(): Steps<string> {
    yield {
      kind: 'rows',
      query: { sql: 'with a as (select 1) update b set c = 1 returning d', parameters: [] } as never,
    };
    return 'done';
  }

  it.each([
    ['by a statement that changes something', twoInserts, true],
    ['by one that changes what it has found', changesFirst, true],
    ['by any where the driver does not pipeline', readsFirst, false],
  ])('is awaited %s', async (_, steps, pipelines) => {
    const { queries, execute } = asked();
    const { opening, reject } = opened();
    const run = driveSteps(steps(), execute, { opening, pipelines });
    await turnOfLoop();
    expect(queries).toHaveLength(0);
    reject(new Error('no transaction'));
    await expect(run).rejects.toThrow('no transaction');
    expect(queries).toHaveLength(0);
  });

  it('that fails ends it, whatever was read by then', async () => {
    const { queries, execute } = asked();
    const { opening, reject } = opened();
    const run = driveSteps(readsFirst(), execute, { opening, pipelines: true });
    queries[0]!.answer();
    reject(new Error('no transaction'));
    await expect(run).rejects.toThrow('no transaction');
    expect(queries).toHaveLength(1);
  });
});

describe('the ending of a transaction', () => {
  const turnOfLoop = () => new Promise((resolve) => setImmediate(resolve));
  function* oneInsert(): Steps<string> {
    yield { kind: 'rows', query: { sql: 'select 1', parameters: [] } as never };
    yield* insertRows(rowsOf('hookplane_messages', [['one']]));
    yield { kind: 'command', query: { sql: 'select pg_notify()', parameters: [] } as never };
    return 'done';
  }
  function* updateAndInsert(): Steps<string> {
    yield { kind: 'changes', query: { sql: 'update b set c = 1', parameters: [] } as never };
    yield* insertRows(rowsOf('hookplane_messages', [['one']]));
    return 'done';
  }
  function start(steps: Steps<string>, pipelines: boolean) {
    const { queries, execute } = asked();
    const ending = () => execute('commit');
    return { queries, run: driveSteps(steps, execute, { ending, pipelines }) };
  }
  const texts = (queries: readonly { text: string }[]) => queries.map(({ text }) => text.slice(0, 6));

  it('goes with the one statement that changes something', async () => {
    const { queries, run } = start(oneInsert(), true);
    await eventually(() => expect(queries).toHaveLength(1));
    queries[0]!.answer();
    await eventually(() => expect(texts(queries)).toEqual(['select', 'insert', 'select', 'commit']));
    for (const query of queries) query.answer();
    expect(await run).toBe('done');
  });

  it('fails as that statement does, whatever the server says of the end', async () => {
    const { queries, run } = start(oneInsert(), true);
    await eventually(() => expect(queries).toHaveLength(1));
    queries[0]!.answer();
    await eventually(() => expect(queries).toHaveLength(4));
    queries[3]!.answer();
    queries[2]!.fail(new Error('what follows'));
    queries[1]!.fail(new Error('the cause'));
    await expect(run).rejects.toThrow('the cause');
    expect(queries).toHaveLength(4);
  });

  it('is told to have failed where it does', async () => {
    const { queries, run } = start(oneInsert(), true);
    await eventually(() => expect(queries).toHaveLength(1));
    queries[0]!.answer();
    await eventually(() => expect(queries).toHaveLength(4));
    for (const query of queries.slice(1, 3)) query.answer();
    queries[3]!.fail(new Error('not committed'));
    await expect(run).rejects.toThrow('not committed');
  });

  it.each([
    ['several statements change something', updateAndInsert, true],
    ['many rows are several statements', () => manyRows(), true],
    ['the driver does not pipeline', updateAndInsert, false],
  ])('waits for all of it where %s, and does not come after a failure', async (_, steps, pipelines) => {
    const { queries, run } = start(steps(), pipelines);
    await eventually(() => expect(queries).not.toHaveLength(0));
    queries[0]!.answer();
    await eventually(() => expect(queries).toHaveLength(2));
    await turnOfLoop();
    expect(texts(queries)).not.toContain('commit');
    queries[1]!.fail(new Error('the cause'));
    await expect(run).rejects.toThrow('the cause');
    expect(queries).toHaveLength(2);
  });

  function* manyRows(): Steps<string> {
    const rows = Array.from({ length: 1000 }, (_, index) => [`${index}`]);
    yield* insertRows(rowsOf('hookplane_messages', rows), rowsOf('hookplane_tenants', rows));
    return 'done';
  }
});

test('a transaction of which one statement fails stores nothing, and says which', async () => {
  const database = await createDatabase();
  const store = postgresStore({ connectionString: database.url });
  onCleanUp('test', 'sender', () => store.close());
  await store.open();
  const { id: endpointId } = await addEndpoint(store);
  const there = await addMessage(store, [endpointId]);
  const other = newMessage([endpointId]);
  const twice = { ...newMessage([endpointId]), id: there };
  await expect(store.messages.insert([other, twice], true)).rejects.toMatchObject({ code: '23505' });
  expect(await database.query(`select id from hookplane.hookplane_messages`)).toMatchObject([{ id: there }]);
  expect(await database.query(`select message_id as id from hookplane.hookplane_payloads`)).toMatchObject([
    { id: there },
  ]);
});
