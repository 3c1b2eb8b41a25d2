import { createStatements } from '../../lib/store/sql/postgres-statements.js';

const nameOf = (statementOf: ReturnType<typeof createStatements>, text: string) => {
  statementOf(text);
  return statementOf(text).name;
};

describe('statements', () => {
  it('are prepared from their second use on, under one name for good, however many others there are', () => {
    const statementOf = createStatements('hookplane', true);
    expect(statementOf('select 1').name).toBeUndefined();
    const { name } = statementOf('select 1');
    expect(name).toMatch(/^hookplane_/);
    for (let each = 0; each < 5000; each++) statementOf(`select ${each} + 1`);
    expect(statementOf('select 1').name).toBe(name);
  });

  it('are prepared up to a number that connections keep, and the rest is run as it is', () => {
    const statementOf = createStatements('hookplane', true);
    const names = Array.from({ length: 2000 }, (_, each) => nameOf(statementOf, `select ${each}`));
    expect(new Set(names.filter((name) => name !== undefined)).size).toBe(300);
  });
});
