import { translatePostgresError } from '../../lib/store/sql/postgres-errors.js';

const failure = (code: string, message = 'failed') => Object.assign(new Error(message), { code });

describe('an error of PostgreSQL', () => {
  it.each([
    ['a name that cannot be resolved at the moment', failure('EAI_AGAIN')],
    ['a refused connection', failure('ECONNREFUSED')],
    ['a standby', failure('0A000', 'cannot set transaction read-write mode during recovery')],
    ['a process that was held up within a transaction', failure('25P03')],
    ['a statement that took too long', failure('57014')],
  ])('says of %s that the store does not answer', (_, error) => {
    expect(translatePostgresError(error)).toMatchObject({ code: 'STORE_UNAVAILABLE', cause: error });
  });

  it.each([
    ['a feature that there is not', failure('0A000', 'not supported')],
    ['a mistake in a statement', failure('42601')],
    ['an error of the sender’s own', failure('ENDPOINT_VALIDATION')],
  ])('leaves %s as it is', (_, error) => {
    expect(translatePostgresError(error)).toBeNull();
  });
});
