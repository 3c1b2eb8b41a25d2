// A contender in a process of its own: sends what it is told to, and tells when all of it was delivered and recorded.
import { setTimeout as sleep } from 'node:timers/promises';
import { dataOf, now } from './webhook.mjs';

// Messages of one call that sends many.
const BATCH = 250;
/** Messages that wait at most, as an application that is in step with its queue has them. */
const AHEAD = 5000;

const settings = JSON.parse(process.argv[2]);
let count = 0;
let told = () => {};
const contender = await import(settings.module);
const endpoints = settings.endpoints;
const { sendMany, close } = await contender.open({
  ...settings,
  delivered(more = 1) {
    count += more;
    told();
  },
});

const until = (total) =>
  new Promise((resolve) => {
    told = () => count >= total && resolve();
    told();
  });
const item = (index, sentAt = 0) => ({ data: dataOf(sentAt), endpoint: index % endpoints.length });

const WORK = {
  /** As many as it can: in calls of many, never too far ahead of what is delivered. */
  async flood({ messages }) {
    const before = count;
    const [started, cpu] = [performance.now(), process.cpuUsage()];
    for (let sent = 0; sent < messages; sent += BATCH) {
      await until(before + sent - AHEAD);
      await sendMany(
        Array.from({ length: Math.min(BATCH, messages - sent) }, (_, index) => item(sent + index)),
      );
    }
    await until(before + messages);
    const seconds = (performance.now() - started) / 1000;
    const { user, system } = process.cpuUsage(cpu);
    return {
      rate: messages / seconds,
      cpuMicros: (user + system) / messages,
      rss: process.memoryUsage.rss(),
    };
  },

  /** So many a second, each in a call of its own, at even distances. */
  async paced({ perSecond, seconds }) {
    const before = count;
    const [started, messages] = [performance.now(), Math.ceil(perSecond * seconds)];
    const calls = [];
    for (let sent = 0; sent < messages; ) {
      const due = Math.min(messages, Math.floor(((performance.now() - started) / 1000) * perSecond) + 1);
      for (; sent < due; sent++) calls.push(sendMany([item(sent, now())]));
      await sleep(Math.max(1, (sent / perSecond) * 1000 - (performance.now() - started)));
    }
    await Promise.all(calls);
    await until(before + messages);
    return {};
  },

  async stop() {
    await close();
    process.disconnect();
  },
};

process.on('message', async ({ kind, ...order }) => {
  const result = await WORK[kind](order);
  if (process.connected) process.send({ kind: 'done', ...result });
});
process.send({ kind: 'ready' });
