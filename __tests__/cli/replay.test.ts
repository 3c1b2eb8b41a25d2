import type { Endpoint } from '../../lib/model/endpoint.js';
import { createProgress } from '../../lib/cli/progress.js';
import { duration } from '../../lib/cli/text.js';
import { startReceiver } from '../support/receiver.js';
import { startSender, type TestSender } from '../support/sender.js';
import { eventually } from '../support/wait-for.js';
import { jsonLines, type Ran, run, startProgram } from './program.js';

/** Brings the cursor to the beginning of a line that it leaves empty. */
const CLEARED = '\r\u001b[K';

let sender: TestSender;
let endpoint: Endpoint;
let ids: string[];
beforeEach(async () => {
  sender = await startSender({ started: false });
  ids = [];
});

/** Messages that were sent before there was an endpoint for them. */
async function plant(count: number): Promise<void> {
  const sent = await sender.sendMany(
    Array.from({ length: count }, (_each, index) => ({ type: index % 2 ? 'b.odd' : 'a.even', data: index })),
  );
  ids = sent.map(({ id }) => id);
  endpoint = await sender.endpoints.create({ url: 'https://example.com/' });
}

const replay = (...args: string[]): Promise<Ran> => run(['replay', '--sqlite', sender.file, ...args]);
const range = () => ['--endpoint', endpoint.id, '--since', '1h'];
const owed = async () => (await sender.health()).outboxDepth;

describe('replay', () => {
  it('makes the messages of a range due again, whatever number of batches they are', async () => {
    await plant(25);
    const { code, stdout, stderr } = await replay(...range(), '--batch', '10');
    expect([code, stdout, stderr]).toEqual([0, '25 deliveries replayed.\n', '']);
    expect(await owed()).toBe(25);
  });

  it('takes type, status, until and one message', async () => {
    await plant(5);
    const replayed = async (...args: string[]) => {
      const { code, stdout } = await replay('--dry-run', '--json', ...args);
      expect(code).toBe(0);
      return jsonLines(stdout)[0]!.replayed;
    };
    expect(await replayed(...range())).toBe(5);
    expect(await replayed(...range(), '--type', 'b.*')).toBe(2);
    expect(await replayed(...range(), '--type', 'b.*', '--type', 'a.even')).toBe(5);
    expect(await replayed(...range(), '--status', 'failed')).toBe(0);
    expect(await replayed(...range(), '--until', '30m')).toBe(0);
    expect(await replayed('--message', ids[0]!, '--endpoint', endpoint.id)).toBe(1);
  });

  it('counts and changes nothing with --dry-run', async () => {
    await plant(3);
    const { code, stdout } = await replay(...range(), '--dry-run');
    expect([code, stdout]).toEqual([0, '3 deliveries would be replayed.\n']);
    expect(await owed()).toBe(0);
    expect((await sender.audit.list()).entries).toEqual([]);
  });

  it('is delivered by the workers of the application, under fresh ids if so asked', async () => {
    const receiver = await startReceiver();
    const worker = await startSender({ file: sender.file });
    await plant(1);
    await sender.endpoints.update(endpoint.id, { url: receiver.url('/') });
    await replay(...range(), '--fresh-id');
    await eventually(() => expect(receiver.requests()).toHaveLength(1));
    const { headers } = receiver.requests()[0]!;
    expect(headers['webhook-id']).toMatch(/^msg_/);
    expect(headers['webhook-id']).not.toBe(ids[0]);
    await eventually(async () => expect((await worker.messages.get(ids[0]!)).status).toBe('delivered'));
  });

  it('stays owed for as long as --ttl says', async () => {
    await plant(1);
    await replay(...range(), '--ttl', '60');
    const later = await startSender({ file: sender.file, now: () => Date.now() + 61_000 });
    await eventually(async () => expect((await later.messages.get(ids[0]!)).status).toBe('failed'));
  });

  it('is recorded in the audit log, under one request', async () => {
    await plant(3);
    await replay(...range(), '--batch', '2');
    const { entries } = await sender.audit.list();
    expect(entries).toMatchObject([
      { operation: 'replay', targetId: endpoint.id, actor: { id: 'cli', name: expect.any(String) } },
      { operation: 'replay', targetId: endpoint.id },
    ]);
    expect(new Set(entries.map(({ requestId }) => requestId)).size).toBe(1);
  });

  it('fails for an endpoint that is paused, or another tenant’s', async () => {
    await plant(1);
    const foreign = await replay(...range(), '--tenant', 'acme');
    expect([foreign.code, foreign.stderr]).toEqual([1, expect.stringContaining('There is no endpoint')]);
    await sender.endpoints.disable(endpoint.id);
    const { code, stdout, stderr } = await replay(...range());
    expect([code, stdout]).toEqual([1, '']);
    expect(stderr).toMatch(/is paused: enable it first\n$/);
  });
});

describe('an interrupt', () => {
  /** Interrupts the program as soon as it has replayed something. */
  async function interrupted(...args: string[]): Promise<Ran> {
    const running = startProgram(['replay', '--sqlite', sender.file, ...range(), ...args]);
    const watcher = setImmediateLoop(async () => {
      if ((await owed())! > 0) running.interrupt();
    });
    const ran = await running.done;
    watcher.stop();
    return ran;
  }

  it('lets the batch end and prints the command that goes on, which replays the rest', async () => {
    await plant(300);
    const { code, stdout, stderr } = await interrupted('--batch', '1');
    const [, done] = /^(\d+) deliver(?:y|ies) replayed\.\n$/.exec(stdout)!;
    expect(code).toBe(1);
    expect(Number(done)).toBe(await owed());
    expect(Number(done)).toBeLessThan(300);
    const [, command] = /^Not at the end\. To go on, with the same store:\n {2}hookplane replay (.*)\n$/.exec(
      stderr,
    )!;
    expect(command).toMatch(/--since \S+Z --batch 1 --cursor \S+$/);
    const rest = await replay(...command!.split(' '));
    expect([rest.code, rest.stdout]).toEqual([0, `${300 - Number(done)} deliveries replayed.\n`]);
    expect(await owed()).toBe(300);
  });

  it('is told to programs by a cursor and the arguments that go on', async () => {
    await plant(300);
    const { code, stdout, stderr } = await interrupted('--batch', '1', '--json', '--type', '*');
    expect([code, stderr]).toEqual([1, '']);
    const [answer] = jsonLines(stdout) as [{ replayed: number; nextCursor: string; resume: string[] }];
    expect(answer.resume.slice(-2)).toEqual(['--cursor', answer.nextCursor]);
    const [command, ...args] = answer.resume;
    expect(command).toBe('replay');
    expect(jsonLines((await replay(...args, '--json')).stdout)).toEqual([
      { replayed: 300 - answer.replayed, dryRun: false, nextCursor: null, resume: null },
    ]);
  });
});

describe('the progress', () => {
  it('is a bar on a terminal, after a count of what there is', async () => {
    await plant(40);
    const { code, stdout, stderr } = await run(
      ['replay', '--sqlite', sender.file, ...range(), '--batch', '10'],
      { tty: true, env: { NO_COLOR: '1' } },
    );
    expect([code, stdout]).toEqual([0, '40 deliveries replayed.\n']);
    const drawn = stderr.split(CLEARED);
    expect(drawn[1]).toMatch(/^Counting 10 {2}/);
    expect(drawn).toContainEqual(
      expect.stringMatching(/^Replaying \[#{6}\.{18}\] 10 of 40 {2}25 % {2}[\d,]+\/s {2}\S+ \S+ left$/),
    );
    expect(drawn.at(-1)).toBe('');
  });

  /** What is written of 0, 500, 1000 … of 2000 things, one step a second. */
  async function written(isTTY: boolean, total: number | null): Promise<string[]> {
    const texts: string[] = [];
    let now = 0;
    const output = { write: async (text: string) => void texts.push(text), isTTY, columns: 60 };
    const io = { stdout: output, stderr: output, env: {}, onInterrupt: () => () => {} };
    const progress = createProgress(io, 'Replaying', total, () => now);
    for (const done of [500, 1000, 1500, 2000]) {
      now += 1000;
      await progress.update(done);
    }
    await progress.end();
    return texts;
  }

  it('is a line now and then elsewhere', async () => {
    expect(await written(false, 4000)).toEqual([
      'Replaying 1,000 of 4,000  25 %  500/s  6 s left\n',
      'Replaying 2,000 of 4,000  50 %  500/s  4 s left\n',
    ]);
    expect(await written(false, null)).toEqual(['Replaying 1,000  500/s\n', 'Replaying 2,000  500/s\n']);
  });

  it('is never wider than the terminal, and leaves it clean', async () => {
    const texts = await written(true, 4000);
    for (const text of texts) expect(text.replace(CLEARED, '').length).toBeLessThan(60);
    expect(texts.at(-1)).toBe(CLEARED);
    expect(texts).toHaveLength(5);
  });
});

test.each([
  [0, '0 ms'],
  [999, '999 ms'],
  [1000, '1 s'],
  [61_000, '1 min 1 s'],
  [3_600_000, '1 h'],
  [3_601_000, '1 h'],
  [90_061_000, '1 d 1 h'],
])('%i milliseconds are written as %s', (ms, text) => {
  expect(duration(ms)).toBe(text);
});

function setImmediateLoop(step: () => Promise<void>): { stop(): void } {
  let stopped = false;
  const next = () =>
    setImmediate(async () => {
      if (stopped) return;
      await step();
      next();
    });
  next();
  return {
    stop() {
      stopped = true;
    },
  };
}
