import type { Sender } from '../../lib/index.js';
import { onCleanUp } from '../support/clean-up.js';
import { createDatabase } from '../support/postgres/database.js';
import { eventually } from '../support/wait-for.js';
import { exampleContract, runExample } from './examples.js';

jest.setTimeout(30_000);

const FILE = 'outbox-transaction/server.mjs';

describe(`examples/${FILE}`, () => {
  exampleContract(FILE);

  it.each(['SQLite', 'PostgreSQL'])(
    'keeps neither an order nor its message of what is sold out, on %s',
    async (where) => {
      if (where === 'PostgreSQL') {
        process.env.DATABASE_URL = (await createDatabase('test')).url;
        onCleanUp('test', 'folder', async () => void delete process.env.DATABASE_URL);
      }
      const { urls, values, signal } = await runExample(FILE);
      const ask = (init?: RequestInit) => fetch(`${urls[0]}/orders`, init);
      const answers: number[] = [];
      for (let id = 1; id <= 4; id++) {
        const headers = { 'content-type': 'application/json' };
        answers.push((await ask({ method: 'POST', headers, body: JSON.stringify({ id }) })).status);
      }
      expect(answers).toEqual([202, 202, 202, 409]);
      expect(await (await ask()).json()).toEqual([{ id: 1 }, { id: 2 }, { id: 3 }]);
      expect((await (values.sender as Sender).messages.list()).messages).toHaveLength(3);
      const { orders } = values.shop as { orders(): unknown };
      signal('SIGTERM');
      await eventually(() => expect(async () => orders()).rejects.toThrow(/not open|after calling end/));
    },
  );
});
