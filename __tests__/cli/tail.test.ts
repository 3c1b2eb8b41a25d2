import { setTimeout } from 'node:timers/promises';
import { follow, type Happening } from '../../lib/cli/follow.js';
import { HookplaneError } from '../../lib/model/errors.js';
import { startReceiver } from '../support/receiver.js';
import { startSender, type TestSender } from '../support/sender.js';
import { eventually } from '../support/wait-for.js';
import { jsonLines, run, startProgram } from './program.js';

/** A sender that has delivered a message to one endpoint, and failed to deliver it to another. */
async function delivered() {
  const receiver = await startReceiver();
  receiver.answer('/bad', 500);
  const sender = await startSender();
  const retry = { delaysSeconds: [3600], jitter: 0 };
  const good = await sender.endpoints.create({ url: receiver.url('/good?token=s3cret'), tenantId: 'acme' });
  const bad = await sender.endpoints.create({ url: receiver.url('/bad'), tenantId: 'acme', retry });
  const send = () => sender.send({ type: 'a.b', data: 1, tenantId: 'acme' });
  const { id } = await send();
  await attempted(sender, id, 2);
  return { sender, good, bad, messageId: id, send };
}

async function attempted(sender: TestSender, messageId: string, count: number): Promise<void> {
  await eventually(async () =>
    expect((await sender.messages.attempts(messageId)).attempts).toHaveLength(count),
  );
}

describe('tail --once', () => {
  it('shows the attempts of the last hour, oldest first, a line each', async () => {
    const { sender, good, bad, messageId } = await delivered();
    const { code, stdout, stderr } = await run(['tail', '--once', '--sqlite', sender.file]);
    expect([code, stderr]).toEqual([0, '']);
    const lines = stdout.trimEnd().split('\n');
    expect(lines).toHaveLength(2);
    expect([...lines].sort()).toEqual(lines);
    expect(stdout).toMatch(new RegExp(`Z succeeded 200 +\\d+ ms {2}${good.id} ${messageId} #1 send$`, 'm'));
    expect(stdout).toMatch(
      new RegExp(`Z failed {4}500 +\\d+ ms {2}${bad.id} ${messageId} #1 send {2}.+$`, 'm'),
    );
  });

  it('shows no URL, which may have a secret in it', async () => {
    const { sender } = await delivered();
    expect((await run(['tail', '--once', '--sqlite', sender.file])).stdout).not.toContain('s3cret');
  });

  it('shows whole records with --json', async () => {
    const { sender, messageId } = await delivered();
    const { stdout } = await run(['tail', '--once', '--json', '--sqlite', sender.file]);
    const { attempts } = await sender.messages.attempts(messageId);
    expect(jsonLines(stdout).sort(byId)).toEqual([...attempts].sort(byId));
  });

  it('is narrowed by endpoint, status, tenant and time', async () => {
    const { sender, good, bad } = await delivered();
    const shown = async (...args: string[]) => {
      const ran = await run(['tail', '--once', '--json', '--sqlite', sender.file, ...args]);
      expect(ran).toMatchObject({ code: 0, stderr: '' });
      return jsonLines(ran.stdout).map(({ endpointId }) => endpointId);
    };
    expect(await shown('--endpoint', good.id)).toEqual([good.id]);
    expect(await shown('--status', 'failed')).toEqual([bad.id]);
    expect(await shown('--tenant', 'acme')).toHaveLength(2);
    expect(await shown('--tenant', 'other')).toEqual([]);
    expect(await shown('--since', '3h')).toHaveLength(2);
    expect(await shown('--since', new Date(Date.now() + 60_000).toISOString())).toEqual([]);
  });

  it('fails for an endpoint that there is not, or not for this tenant', async () => {
    const { sender, good } = await delivered();
    for (const args of [
      ['--endpoint', 'ep_none'],
      ['--endpoint', good.id, '--tenant', 'other'],
    ]) {
      const { code, stderr } = await run(['tail', '--once', '--sqlite', sender.file, ...args]);
      expect([code, stderr]).toEqual([1, expect.stringContaining('There is no endpoint')]);
    }
  });

  it('lets no receiver write to the terminal', async () => {
    const sender = await startSender({
      endpointHooks: () => ({
        transform() {
          throw new Error('\u001b]0;title\u0007\u009b31m\u202e\nnext');
        },
      }),
    });
    await sender.endpoints.create({
      url: 'https://example.com/',
      retry: { delaysSeconds: [3600], jitter: 0 },
    });
    const { id } = await sender.send({ type: 'a.b', data: 1 });
    await attempted(sender, id, 1);
    for (const format of [[], ['--json']]) {
      const { stdout } = await run(['tail', '--once', '--sqlite', sender.file, ...format]);
      expect(stdout).toMatch(/title/);
      const [line, ...rest] = stdout.split('\n');
      expect(line).not.toMatch(/[\p{Cc}\u202e]/u);
      expect(rest).toEqual(['']);
    }
  });

  it('shows the audit log with --audit', async () => {
    const sender = await startSender({ started: false });
    const caller = { tenantId: 'acme', actor: { id: 'u_1', name: 'Ada' } };
    const { id } = await sender.forCaller(caller).endpoints.create({ url: 'https://example.com/' });
    await sender.forCaller(caller).endpoints.update(id, { description: 'x' });
    const { stdout } = await run(['tail', '--audit', '--once', '--sqlite', sender.file]);
    const [created, updated] = stdout.split('\n');
    expect(created).toMatch(new RegExp(`Z endpoints.create +${id} {2}by Ada {2}tenant acme {2}url$`));
    expect(updated).toMatch(/endpoints.update .* by Ada {2}tenant acme {2}description$/);
    const json = await run([
      'tail',
      '--audit',
      '--once',
      '--json',
      '--tenant',
      'acme',
      '--sqlite',
      sender.file,
    ]);
    expect(jsonLines(json.stdout)).toEqual((await sender.audit.list()).entries.reverse());
  });
});

describe('tail', () => {
  it('shows what comes, each once, until it is interrupted, and ends with 0', async () => {
    const { sender, messageId, send } = await delivered();
    const running = startProgram(['tail', '--json', '--interval', '0.1', '--sqlite', sender.file]);
    const shown = () => jsonLines(running.stdout()).map((attempt) => attempt.messageId);
    // What is shown first says that it has begun to look; what was there before is not shown.
    const sent: string[] = [];
    await eventually(async () => {
      sent.push((await send()).id);
      await setTimeout(150);
      expect(shown().length).toBeGreaterThan(0);
    });
    sent.push((await send()).id);
    await eventually(() => expect(shown().filter((id) => id === sent.at(-1))).toHaveLength(2));
    running.interrupt();
    const { code, stderr } = await running.done;
    expect([code, stderr]).toEqual([0, '']);
    expect(shown()).not.toContain(messageId);
    const ids = jsonLines(running.stdout()).map(({ id }) => id);
    expect(new Set(ids).size).toBe(ids.length);
  });

  it('shows what was before, and goes on, with --since', async () => {
    const { sender, messageId, send } = await delivered();
    const running = startProgram([
      ...['tail', '--json', '--since', '1h', '--interval', '0.1', '--sqlite', sender.file],
    ]);
    const shown = (id: string) => jsonLines(running.stdout()).filter((attempt) => attempt.messageId === id);
    await eventually(() => expect(shown(messageId)).toHaveLength(2));
    const { id } = await send();
    await eventually(() => expect(shown(id)).toHaveLength(2));
    running.interrupt();
    expect((await running.done).code).toBe(0);
    expect(shown(messageId)).toHaveLength(2);
  });
});

describe('following', () => {
  const unavailable = new HookplaneError('STORE_UNAVAILABLE', 'The store does not answer');

  /** Follows looks that are given one by one, and answers what was shown and told. */
  async function followed(looks: (Happening[] | Error)[], latestMs = 10_000) {
    const controller = new AbortController();
    const shown: string[] = [];
    const told: string[] = [];
    const asked: number[] = [];
    await follow<Happening>({
      async list(since) {
        asked.push(since);
        const look = looks.shift();
        if (looks.length === 0) controller.abort();
        if (look instanceof Error) throw look;
        return (look ?? []).filter(({ ms }) => ms >= since);
      },
      listAll: async () => [],
      show: async ({ id }) => void shown.push(id),
      away: async (problem) => void told.push(problem),
      since: undefined,
      latestMs,
      intervalMs: 1,
      once: false,
      signal: controller.signal,
    });
    return { shown, told, asked };
  }
  const now = Date.now();
  const at = (id: string, ms: number): Happening => ({ id, ms: now + ms });

  it('shows what comes to be known late, in the order of time as far as that is known', async () => {
    const { shown } = await followed([
      [at('old', 0)],
      [at('old', 0), at('c', 3), at('b', 2)],
      [at('old', 0), at('a', 1), at('b', 2), at('c', 3)],
      [],
    ]);
    expect(shown).toEqual(['b', 'c', 'a']);
  });

  it('goes through the past in pieces that hold no more than can be kept', async () => {
    const since = now - 7_200_000;
    // Ten thousand within a minute, and one an hour later.
    const happened = Array.from({ length: 10_000 }, (_, index) => ({
      id: `a${index}`,
      ms: since + index * 6,
    }));
    happened.push({ id: 'last', ms: since + 3_600_000 });
    const held: number[] = [];
    const shown: number[] = [];
    await follow<Happening>({
      list: async () => [],
      async listAll(from, until, most) {
        const found = happened.filter(({ ms }) => ms >= from && ms < until);
        if (found.length > most) return null;
        held.push(found.length);
        return found;
      },
      show: async ({ ms }) => void shown.push(ms),
      away: async () => {},
      since,
      latestMs: 1000,
      intervalMs: 1,
      once: true,
      signal: new AbortController().signal,
    });
    expect(shown).toEqual(happened.map(({ ms }) => ms));
    expect(Math.max(...held)).toBeLessThanOrEqual(5000);
    expect(held.length).toBeLessThan(30);
  });

  it('looks back no further than something may be late', async () => {
    const { asked } = await followed([[], [], []], 500);
    for (const since of asked) expect(since).toBeGreaterThanOrEqual(now - 500);
    expect(asked).toHaveLength(3);
  });

  it('says once that the store is away, and goes on when it is back', async () => {
    const { shown, told } = await followed([[], unavailable, unavailable, [at('a', 1)], unavailable, []]);
    expect(shown).toEqual(['a']);
    expect(told).toEqual([unavailable.message, unavailable.message]);
  });

  it('ends with any other failure', async () => {
    await expect(followed([[], new Error('a fault'), []])).rejects.toThrow('a fault');
  });
});

function byId(a: { id?: unknown }, b: { id?: unknown }): number {
  return String(a.id) < String(b.id) ? -1 : 1;
}
