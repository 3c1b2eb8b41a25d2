import { createClock, DAY, MINUTE, SECOND } from '../support/clock.js';
import { startReceiver } from '../support/receiver.js';
import { startSender } from '../support/sender.js';
import { eventually, waitFor } from '../support/wait-for.js';
import { untilAttempts, untilStatus } from './probe.js';

test('a clock that jumps past the leases sends nothing twice that is under way in this process', async () => {
  const clock = createClock();
  const receiver = await startReceiver();
  const held = receiver.hold('/');
  const sender = await startSender({ now: clock.now });
  await sender.endpoints.create({ url: receiver.url('/') });
  const sent = await sender.sendMany(Array.from({ length: 5 }, (_, data) => ({ type: 'a', data })));
  await receiver.waitFor(5);
  clock.advance(10 * MINUTE);
  // Delivered beside them, so that the worker has leased again by then.
  sent.push(await sender.send({ type: 'a', data: 6 }));
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
