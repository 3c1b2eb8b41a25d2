import type { Store } from '../../../lib/store/store.js';
import { T0 } from './fixtures.js';

export function workerStoreContract(store: () => Store): void {
  test('those that gave a sign of life since then are counted, each once', async () => {
    const { workers } = store();
    expect(await workers.countSince(0)).toBe(0);
    await workers.beat('wrk_a', T0);
    await workers.beat('wrk_b', T0 + 1000);
    await workers.beat('wrk_a', T0 + 2000);
    expect(await workers.countSince(T0)).toBe(2);
    expect(await workers.countSince(T0 + 1001)).toBe(1);
    expect(await workers.countSince(T0 + 2000)).toBe(1);
    expect(await workers.countSince(T0 + 2001)).toBe(0);
  });

  test('one that signs off is counted no more', async () => {
    const { workers } = store();
    await workers.beat('wrk_a', T0);
    await workers.beat('wrk_b', T0);
    await workers.leave('wrk_a');
    await workers.leave('wrk_unknown');
    expect(await workers.countSince(0)).toBe(1);
  });

  test('one that has been silent for days is forgotten', async () => {
    const { workers } = store();
    await workers.beat('wrk_a', T0);
    await workers.beat('wrk_b', T0 + 3 * 86_400_000);
    expect(await workers.countSince(0)).toBe(1);
  });
}
