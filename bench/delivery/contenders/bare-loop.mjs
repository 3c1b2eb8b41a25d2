// A loop over what it has in memory: nothing is stored, nothing is tried again. The most that one process can do.
import { createPoster } from '../webhook.mjs';

export async function open({ endpoints, concurrency, delivered }) {
  const poster = createPoster(concurrency);
  const waiting = [];
  let running = 0;
  let number = 0;

  async function work() {
    running += 1;
    while (waiting.length > 0) {
      await poster.post(waiting.pop());
      delivered();
    }
    running -= 1;
  }

  return {
    async sendMany(datas) {
      for (const { data, endpoint } of datas) {
        waiting.push({ id: `msg_${number++}`, url: endpoints[endpoint], data });
        if (running < concurrency) void work();
      }
    },
    close: () => poster.close(),
  };
}
