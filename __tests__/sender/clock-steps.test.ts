import { createClock, MINUTE } from '../support/clock.js';
import { startReceiver } from '../support/receiver.js';
import { startSender } from '../support/sender.js';
import { eventually, waitFor } from '../support/wait-for.js';

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
