const MIN_STEP_MS = 3;
const MAX_STEP_MS = 25;

/**
 * Asks until the answer is truthy, and answers that. An assertion that throws counts as "not yet", so
 * `waitFor(async () => expect(await …).toBe(…) ?? true)` works; what it threw last is the reason of the failure.
 */
export async function waitFor<T>(
  ask: () => T | Promise<T>,
  deadlineMs = 20_000,
): Promise<Exclude<T, undefined | null | false | 0 | ''>> {
  const begin = performance.now();
  let failure: unknown;
  for (;;) {
    try {
      const answer = await ask();
      if (answer) return answer as Exclude<T, undefined | null | false | 0 | ''>;
      failure = undefined;
    } catch (error) {
      failure = error;
    }
    const waitedMs = performance.now() - begin;
    if (waitedMs > deadlineMs) {
      throw failure ?? new Error(`Nothing came of it within ${deadlineMs} ms: ${ask.toString()}`);
    }
    // To ask costs more than to be a little late.
    const stepMs = Math.min(MAX_STEP_MS, Math.max(MIN_STEP_MS, waitedMs / 8));
    await new Promise((resolve) => setTimeout(resolve, stepMs));
  }
}

/** Asserts until it passes. */
export async function eventually(assert: () => unknown, deadlineMs?: number): Promise<void> {
  await waitFor(async () => {
    await assert();
    return true;
  }, deadlineMs);
}
