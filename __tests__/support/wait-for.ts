const STEP_MS = 3;
const MAX_STEP_MS = 20;
/** What has been long in coming is asked for less often: to ask takes time from what is waited for. */
const STEP_OF_WAIT = 0.1;

/**
 * Asks until the answer is truthy, and answers that. An assertion that throws counts as "not yet", so
 * `waitFor(async () => expect(await …).toBe(…) ?? true)` works; what it threw last is the reason of the failure.
 */
export async function waitFor<T>(
  ask: () => T | Promise<T>,
  deadlineMs = 20_000,
): Promise<Exclude<T, undefined | null | false | 0 | ''>> {
  const start = performance.now();
  let failure: unknown;
  for (;;) {
    try {
      const answer = await ask();
      if (answer) return answer as Exclude<T, undefined | null | false | 0 | ''>;
      failure = undefined;
    } catch (error) {
      failure = error;
    }
    const waited = performance.now() - start;
    if (waited > deadlineMs) {
      throw failure ?? new Error(`Nothing came of it within ${deadlineMs} ms: ${ask.toString()}`);
    }
    const step = Math.min(MAX_STEP_MS, Math.max(STEP_MS, waited * STEP_OF_WAIT));
    await new Promise((resolve) => setTimeout(resolve, step));
  }
}

/** Asserts until it passes. */
export async function eventually(assert: () => unknown, deadlineMs?: number): Promise<void> {
  await waitFor(async () => {
    await assert();
    return true;
  }, deadlineMs);
}
