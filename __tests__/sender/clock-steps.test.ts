import { createClock, DAY, MINUTE, SECOND } from '../support/clock.js';
import { startReceiver } from '../support/receiver.js';
import { startSender } from '../support/sender.js';
import { newPlace, storeAt } from '../support/test-store.js';
import { eventually, waitFor } from '../support/wait-for.js';
import { untilAttempts, untilStatus } from './probe.js';

test('a clock that jumps past the leases sends nothing twice that is under way in this process', async () => {
  const clock = createClock();
  const receiver = await startReceiver();
  const held = receiver.hold('/');
  const sender = await startSender({ now: clock.now });
  await sender.endpoints.create({ url: receiver.url('/'), types: ['a'] });
  // What is sent to it waits for a turn.
  await sender.endpoints.create({ url: receiver.url('/'), types: ['b'], maxInFlight: 1 });
  const sent = await sender.sendMany(Array.from({ length: 5 }, (_, data) => ({ type: 'a', data })));
  await receiver.waitFor(5);
  clock.advance(10 * MINUTE);
  // Delivered beside them, so that the worker has leased again by then.
  sent.push(await sender.send({ type: 'b', data: 6 }));
  await waitFor(() => receiver.requests().some((request) => request.headers['webhook-id'] === sent[5]?.id));
  held.release();
  for (const { id } of sent) {
    await eventually(async () =>
      expect(await sender.messages.get(id)).toMatchObject({
        status: 'delivered',
        deliveries: [{ attemptCount: 1 }],
      }),
    );
  }
  expect(receiver.requests()).toHaveLength(6);
});

test('what ends while its lease is taken anew is settled all the same', async () => {
  const clock = createClock();
  const receiver = await startReceiver();
  const held = receiver.hold('/a');
  const file = await newPlace();
  const store = await storeAt(file);
  let ask = () => {};
  const asked = new Promise<void>((resolve) => {
    ask = resolve;
  });
  let id = '';
  const outbox: typeof store.outbox = {
    ...store.outbox,
    async turn(turn) {
      const result = await store.outbox.turn(turn);
      if (result.leased.some(({ messageId }) => messageId === id)) {
        held.release();
        ask();
        // The request has ended by the time that the turn answers.
        await waitFor(() => sender.metrics().then((text) => /hookplane_attempts_total\S* [1-9]/.test(text)));
      }
      return result;
    },
  };
  const sender = await startSender({ file, store: { ...store, outbox }, now: clock.now });
  await sender.endpoints.create({ url: receiver.url('/a'), types: ['a'] });
  await sender.endpoints.create({ url: receiver.url('/b'), types: ['b'], maxInFlight: 1 });
  ({ id } = await sender.send({ type: 'a', data: 1 }));
  await receiver.waitFor(1);
  clock.advance(10 * MINUTE);
  await sender.send({ type: 'b', data: 2 });
  await asked;
  await untilStatus(sender, id, 'delivered');
  expect(receiver.requests().filter(({ path }) => path === '/a')).toHaveLength(1);
});

test('a clock that is set back by a day delays nothing by a day: retries, and what was due at that moment', async () => {
  const clock = createClock();
  const receiver = await startReceiver();
  receiver.answer('/', 500);
  const sender = await startSender({ now: clock.now });
  await sender.endpoints.create({ url: receiver.url('/') });
  const sent = await sender.sendMany(Array.from({ length: 3 }, (_, data) => ({ type: 'a', data })));
  await receiver.waitFor(3);
  await untilAttempts(sender, sent[2]!, 1);
  clock.advance(-DAY);
  receiver.answer('/', 200);
  // The next sign of life of any worker tells: here the first one of another.
  await startSender({ file: sender.file, now: clock.now });
  clock.advance(6 * SECOND);
  for (const { id } of sent) await untilStatus(sender, id, 'delivered');
  expect(receiver.requests()).toHaveLength(6);
});
