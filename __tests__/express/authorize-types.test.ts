import { join, resolve } from 'node:path';
import { typeErrors } from '../support/snippets.js';

const root = resolve(__dirname, '../..');
const paths = {
  hookplane: [join(root, 'lib/index.ts')],
  'hookplane/express': [join(root, 'lib/express/index.ts')],
};
jest.setTimeout(60_000);

/** What the compiler says of an application that has just the types which it imports. */
const errorsOf = (code: string): string[] =>
  typeErrors([{ title: 'code', language: 'ts', code }], paths, {}, root);

describe('the types of fromUser and fromSession', () => {
  it('are those that the application gives to Passport and express-session', () => {
    const code = `
      import 'passport';
      import 'express-session';
      import { fromSession, fromUser } from 'hookplane/express';

      declare global {
        namespace Express {
          interface User { role: 'operator' | 'customer'; orgId: string }
        }
      }
      declare module 'express-session' {
        interface SessionData { userId: number }
      }

      fromUser((user) => user.role === 'operator' || { allow: true, tenantId: user.orgId });
      fromUser(async (user) => ({ allow: false, status: 401 }));
      // @ts-expect-error of the role
      fromUser((user) => user.role === 'admin');
      // @ts-expect-error of a property that no user has
      fromUser((user) => user.name === 'ada');
      // @ts-expect-error of a status
      fromUser((user) => ({ allow: false, status: 404 }));

      fromSession(({ userId, id }) => userId === 7 && id.length > 0);
      // @ts-expect-error of what may be missing
      fromSession(({ userId }) => userId.toFixed() === '7');
      // @ts-expect-error of what no session has
      fromSession((session) => session.name === 'ada');
    `;
    expect(errorsOf(code)).toEqual([]);
  });

  it('are those that cookie-session has', () => {
    const code = `
      import 'cookie-session';
      import { fromSession } from 'hookplane/express';

      fromSession((session) => session.isPopulated === true && session.role === 'operator');
      // @ts-expect-error of a boolean
      fromSession((session) => session.isPopulated === 'yes');
    `;
    expect(errorsOf(code)).toEqual([]);
  });

  it('need none of these packages', () => {
    const code = `
      import { anyOf, bearerToken, clientCertificate, jwt, readOnly } from 'hookplane';
      import type { Authorize } from 'hookplane';
      import { fromSession, fromUser } from 'hookplane/express';

      interface Account { role: string }
      fromUser((user: Account) => user.role === 'operator');
      fromUser<Account>((user, request, { operation }) => operation === request.method && user.role === 'operator');
      // @ts-expect-error of a user whom nobody has described
      fromUser((user) => user.role === 'operator');

      fromSession((session) => session['role'] === 'operator');
      fromSession((session: { role?: string }) => session.role === 'operator', { trustedOrigins: [], csrf: false });
      // @ts-expect-error of an unknown value
      fromSession((session) => session['role'].length > 1);

      const authorize: Authorize = anyOf(
        bearerToken([{ token: 'operator-0123456789', name: 'ci', readOnly: true }]),
        readOnly(bearerToken(async (token) => (token === '' ? null : { allow: true, actor: { id: token } }))),
        jwt({ jwksUrl: 'https://a.example', issuer: 'a', audience: 'b', allow: (claims) => claims.sub === 'ada' }),
        clientCertificate({ header: 'ssl-client-s-dn', fromProxy: '127.0.0.1', tenants: { 'CN=a': 'a' } }),
      );
      export { authorize };
    `;
    expect(errorsOf(code)).toEqual([]);
  });
});
