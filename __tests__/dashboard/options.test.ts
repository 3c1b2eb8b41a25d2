import { createDashboardHandler } from '../../lib/dashboard/index.js';
import { dashboardMiddleware } from '../../lib/express/index.js';

const create = (options: object) => () => createDashboardHandler({ adminUrl: '/admin', ...options } as never);
const invalid = (message: string | RegExp) =>
  expect.objectContaining({ code: 'INVALID_OPTIONS', message: expect.stringMatching(message) });

describe('adminUrl', () => {
  it.each([
    '/admin',
    '/',
    '/api/v1/admin/',
    '../admin',
    './admin',
    '../../x',
    'https://app.example.com',
    'HTTP://127.0.0.1:3000/admin',
  ])('may be %s', (adminUrl) => {
    expect(create({ adminUrl })).not.toThrow();
  });

  it.each([
    undefined,
    '',
    null,
    42,
    new URL('https://app.example.com/admin'),
    'admin',
    '//app.example.com/admin',
    '/admin?x=1',
    '/admin#x',
    '/ad min',
    '/admin\n',
    '\\admin',
    '/admin<',
    'https://',
    'https:admin',
    'javascript:alert(1)',
    'data:text/html,x',
    'ftp://app.example.com/admin',
  ])('may not be %p, and the error says what it may be', (adminUrl) => {
    expect(create({ adminUrl })).toThrow(
      invalid(
        /^The dashboard .*adminUrl must be "\/admin", "\.\.\/admin" or "https:\/\/app\.example\.com\/admin"/,
      ),
    );
  });

  it('holds no credentials, and the error does not repeat them', () => {
    expect(create({ adminUrl: 'https://ada:secret@app.example.com/admin' })).toThrow(
      invalid(/^(?!.*secret).*credentials: leave them out/),
    );
  });
});

describe('a theme', () => {
  it.each([
    'red',
    'light-dark(#fff, rgb(0 0 0 / 50%))',
    '"It\'s", sans-serif',
    '12px',
    'url(data:image/png,x)',
  ])('may say %s', (value) => {
    expect(create({ theme: { '--hp-accent': value } })).not.toThrow();
  });

  it.each([
    'red; color: red',
    'red } * { color: red',
    '</style><script>',
    'a { b }',
    '@import "x"',
    '\\3b',
    'rgb(0 0 0',
    'red)',
    ')(',
    '"open',
    "it's",
    '[open',
    '/* open',
    'red\nblue',
    '',
    ' ',
    7,
    null,
  ])('may not say %p', (value) => {
    expect(create({ theme: { '--hp-accent': value } })).toThrow(
      invalid(/^The dashboard has a theme whose --hp-accent is no value of CSS: leave out/),
    );
  });

  it.each(['--accent', 'color', '--hp-', '--HP-accent', '--hp-a:b', '--hp-a b', '--hp-a;'])(
    'has no property %s',
    (name) => {
      expect(create({ theme: { [name]: 'red' } })).toThrow(
        invalid(
          /^The dashboard has a theme with ".*": its names are custom properties, such as "--hp-accent"$/,
        ),
      );
    },
  );

  it.each([null, 'red', ['red']])('is not %p', (theme) => {
    expect(create({ theme })).toThrow(invalid(/^The dashboard needs a theme that is an object/));
  });
});

describe('other options', () => {
  it.each(['', ' ', 'x'.repeat(201), 7, null])('refuse the title %p', (title) => {
    expect(create({ title })).toThrow(invalid(/^The dashboard needs a title of 1 to 200 characters/));
  });

  it.each([
    ['self'],
    ["'none'"],
    ['*'],
    ['https://a.example; script-src *'],
    ['https://a.example/path'],
    [7],
  ])('refuse a frame ancestor %p', (source) => {
    expect(create({ frameAncestors: [source] })).toThrow(
      invalid(/^The dashboard has frameAncestors with .*: use "'self'" and origins/),
    );
  });

  it('refuse frame ancestors that are no list', () => {
    expect(create({ frameAncestors: "'self'" })).toThrow(
      invalid(/^The dashboard needs frameAncestors that are a list/),
    );
  });

  it.each(['webhooks', '/a?b', '/a#b'])('refuse the basePath %s', (basePath) => {
    expect(create({ basePath })).toThrow(invalid(/^basePath must begin with "\/"/));
  });

  it('refuse a basePath that is no text', () => {
    expect(create({ basePath: 7 })).toThrow(invalid(/^The dashboard needs a basePath that is text/));
  });

  it('refuse what they do not know, in middleware too', () => {
    const problem = invalid(/^The dashboard has an unknown key "adminURL": use adminUrl, basePath, title/);
    expect(create({ adminURL: '/admin' })).toThrow(problem);
    expect(() => dashboardMiddleware({ adminUrl: '/admin', adminURL: '/' } as never)).toThrow(problem);
  });

  it('are needed', () => {
    expect(() => createDashboardHandler(undefined as never)).toThrow(invalid('The dashboard needs options'));
    expect(() => dashboardMiddleware(undefined as never)).toThrow(
      invalid('The dashboard does not know where the control plane is: adminUrl must be'),
    );
  });
});
