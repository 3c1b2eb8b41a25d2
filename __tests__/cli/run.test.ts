import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import manifest from '../../package.json';
import { COMMANDS } from '../../lib/cli/run.js';
import { startSender, temporaryFolder } from '../support/sender.js';
import { jsonLines, run } from './program.js';

const NAMES = COMMANDS.map(({ name }) => name);

describe('help', () => {
  it.each([[['--help']], [['-h']], [['help']]])('is an overview of all commands by %j', async (args) => {
    const { code, stdout, stderr } = await run(args);
    expect([code, stderr]).toEqual([0, '']);
    for (const { name, summary } of COMMANDS)
      expect(stdout).toMatch(new RegExp(`^  ${name} +${summary}$`, 'm'));
    expect(stdout).toContain('HOOKPLANE_STORE=sqlite:FILE');
  });

  it('is shown, with 2, to who says nothing', async () => {
    const { code, stdout, stderr } = await run([]);
    expect([code, stdout]).toEqual([2, '']);
    expect(stderr).toContain('Usage: hookplane COMMAND');
  });

  it.each(NAMES)('of %s tells every option that it takes, and needs no store', async (name) => {
    const command = COMMANDS.find((each) => each.name === name)!;
    const { code, stdout } = await run([name, '--help']);
    expect(code).toBe(0);
    for (const option of [...Object.keys(command.options), 'sqlite', 'json', 'help']) {
      expect(stdout).toMatch(new RegExp(`^  (-h, )?--${option}\\b`, 'm'));
    }
    for (const line of stdout.split('\n')) expect(line.length).toBeLessThanOrEqual(110);
    expect(await run(['help', name])).toEqual({ code, stdout, stderr: '' });
    expect((await run([name, '--nonsense', '-h'])).stdout).toBe(stdout);
  });

  it.each(NAMES)('of %s has examples that are understood', async (name) => {
    for (const example of COMMANDS.find((each) => each.name === name)!.examples) {
      const [program, ...args] = example.split(/ [|>] /)[0]!.split(' ');
      expect(program).toBe('hookplane');
      const missing = join(await temporaryFolder(), 'missing', 'file.sqlite');
      const given = args.map((arg) => (arg === 'hookplane.sqlite' ? missing : arg));
      const ran = await run(given, { env: { HOOKPLANE_STORE: `sqlite:${missing}` } });
      // Understood, and then there is no such file.
      expect([example, ran.code]).toEqual([example, 1]);
    }
  });
});

describe('the version', () => {
  it.each(['--version', '-v'])('is that of the package, by %s', async (flag) => {
    expect(await run([flag])).toEqual({ code: 0, stdout: `${manifest.version}\n`, stderr: '' });
  });
});

describe('what is not understood', () => {
  it.each([
    [['migrat'], /no such command; there are migrate, health, tail, replay/],
    [['help', 'nonsense'], /no such command/],
    [['health', '--nonsense'], /Unknown option '--nonsense'/],
    [['health', 'nonsense'], /an argument that belongs to no option/],
    [['health', '--tenant'], /--tenant/],
    [['health', '--tenant', ''], /--tenant is empty/],
    [['health', '--json=yes'], /--json/],
    [['health', '--tenant', 'a', '--tenant', 'b'], /--tenant is given more than once/],
    [['health', '--max-age', '0'], /--max-age must be a number from 1 /],
    [['health', '--max-age', '1e9'], /--max-age must be a number/],
    [['tail', '--status', 'dead'], /--status must be one of succeeded, failed/],
    [['tail', '--audit', '--status', 'failed'], /--audit shows no attempts/],
    [['tail', '--since', 'yesterday'], /--since must be an RFC 3339 time .* or how long ago it was/],
    [['replay'], /needs --endpoint and --since, or --message/],
    [['replay', '--endpoint', 'ep_a'], /needs --endpoint and --since/],
    [['replay', '--message', 'msg_a', '--since', '1h'], /leave --since/],
    [['replay', '--endpoint', 'ep_a', '--since', '1h', '--batch', '1.5'], /--batch must be a whole number/],
  ])('%j ends with 2 and says why', async (args, message) => {
    const { file } = await startSender({ started: false });
    const { code, stdout, stderr } = await run([...args, ...(args[0] === 'help' ? [] : ['--sqlite', file])]);
    expect([code, stdout]).toEqual([2, '']);
    expect(stderr).toMatch(message);
    expect(stderr).toMatch(/^hookplane: .*\. See hookplane --help\n$/);
  });

  it('is a value that the sender refuses, too', async () => {
    const { file, endpoints } = await startSender({ started: false });
    const { id } = await endpoints.create({ url: 'https://example.com/' });
    const args = ['replay', '--sqlite', file, '--endpoint', id, '--since', '1h'];
    const wrong = await run([...args, '--type', 'not a type']);
    expect([wrong.code, wrong.stderr]).toEqual([2, expect.stringContaining('must be a message type')]);
    const foreign = await run([...args, '--cursor', 'nonsense']);
    expect([foreign.code, foreign.stderr]).toEqual([2, expect.stringContaining('cursor is malformed')]);
  });
});

describe('the store', () => {
  it('is the one of the option, or else that of the environment', async () => {
    const here = await startSender({ started: false });
    const there = await startSender({ started: false });
    await here.endpoints.create({ url: 'https://example.com/' });
    await here.send({ type: 'a', data: 1 });
    await there.health();
    const depth = async (args: string[], env = {}) => {
      const { stdout } = await run(['health', '--json', ...args], { env });
      return jsonLines(stdout)[0]?.outboxDepth;
    };
    expect(await depth(['--sqlite', here.file])).toBe(1);
    expect(await depth([], { HOOKPLANE_STORE: `sqlite:${here.file}` })).toBe(1);
    expect(await depth(['--sqlite', there.file], { HOOKPLANE_STORE: `sqlite:${here.file}` })).toBe(0);
  });

  it.each([{}, { HOOKPLANE_STORE: '' }])('has to be named: %j', async (env) => {
    const { code, stderr } = await run(['health'], { env });
    expect([code, stderr]).toEqual([
      2,
      expect.stringMatching(/give --sqlite FILE or --postgres URL, or set HOOKPLANE_STORE/),
    ]);
  });

  it.each(['health', 'tail', 'replay'])('is not made by %s where there is none', async (command) => {
    const file = join(await temporaryFolder(), 'none.sqlite');
    const options = command === 'replay' ? ['--message', 'msg_a'] : [];
    const { code, stderr } = await run([command, '--sqlite', file, ...options]);
    expect([code, stderr]).toEqual([1, expect.stringContaining('There is no file')]);
    expect(() => readFileSync(file)).toThrow('ENOENT');
  });

  it('is not brought up to date but by migrate', async () => {
    const file = join(await temporaryFolder(), 'empty.sqlite');
    const { code, stderr } = await run(['tail', '--sqlite', await emptyFile(file), '--once']);
    expect([code, stderr]).toEqual([1, expect.stringContaining('schema version 0')]);
  });

  it('that is no database is said to be none', async () => {
    const file = join(await temporaryFolder(), 'text.sqlite');
    const { code, stderr } = await run([
      'tail',
      '--sqlite',
      await emptyFile(file, 'text'.repeat(2000)),
      '--once',
    ]);
    expect([code, stderr]).toEqual([1, expect.stringMatching(/does not answer: file is not a database/)]);
  });
});

async function emptyFile(file: string, content = ''): Promise<string> {
  const { writeFile } = await import('node:fs/promises');
  await writeFile(file, content);
  return file;
}

describe('what is written', () => {
  const SECRET = 'pass-word';

  it.each([
    ['an unknown kind of store', ['health'], { HOOKPLANE_STORE: `mysql://user:${SECRET}@db/x` }],
    ['a URL without its option', ['health', `mysql://user:${SECRET}@db/x`], {}],
    ['a URL in an unknown option', ['health', `--mysql=mysql://user:${SECRET}@db/x`], {}],
  ])('never repeats what may be a password: %s', async (_, args, env) => {
    const { code, stdout, stderr } = await run(args, { env });
    expect(code).toBe(2);
    expect(stdout + stderr).not.toContain(SECRET);
  });

  it('is in colour on a terminal, unless NO_COLOR or a dumb one says otherwise', async () => {
    const { file, health } = await startSender({ started: false });
    await health();
    const isColoured = async (options: Parameters<typeof run>[1]) =>
      (await run(['health', '--sqlite', file], options)).stdout.includes('\u001b[');
    expect(await isColoured({ tty: true })).toBe(true);
    expect(await isColoured({ tty: false })).toBe(false);
    expect(await isColoured({ tty: true, env: { NO_COLOR: '' } })).toBe(true);
    expect(await isColoured({ tty: true, env: { NO_COLOR: '0' } })).toBe(false);
    expect(await isColoured({ tty: true, env: { TERM: 'dumb' } })).toBe(false);
  });

  it('of a failure is JSON for who asks for JSON', async () => {
    const { file, health } = await startSender({ started: false });
    await health();
    const args = ['replay', '--sqlite', file, '--message', 'msg_none', '--json'];
    const { code, stderr } = await run(args);
    expect(code).toBe(1);
    expect(jsonLines(stderr)).toEqual([{ errorCode: 'MESSAGE_NOT_FOUND', error: expect.any(String) }]);
  });
});
