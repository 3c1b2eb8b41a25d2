import { startSender } from '../support/sender.js';

test('however much an endpoint is owed, its deletion cancels all of it, and the event loop has its turns', async () => {
  const sender = await startSender({ started: false });
  const { id } = await sender.endpoints.create({ url: 'http://127.0.0.1:9999/' });
  for (let batch = 0; batch < 5; batch++) {
    await sender.sendMany(Array.from({ length: 500 }, (_, data) => ({ type: 'a', data })));
  }
  let turns = 0;
  const ticking = setInterval(() => {
    turns += 1;
  }, 1);
  await sender.endpoints.delete(id);
  clearInterval(ticking);
  expect(turns).toBeGreaterThan(0);
  expect((await sender.messages.list({ statuses: ['pending'] })).messages).toEqual([]);
  expect((await sender.messages.list({ statuses: ['unrouted'], limit: 1000 })).messages).toHaveLength(1000);
});
