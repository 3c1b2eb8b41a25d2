/** Receivers go first, so that no sender waits for an answer; folders go last, when nobody has a file in them open. */
const STEPS = ['receiver', 'sender', 'folder'] as const;
type Step = (typeof STEPS)[number];

/** `test`: at the end of the test that runs. `file`: at the end of the test file, for what `beforeAll` makes. */
export type Lifetime = 'test' | 'file';

const undone: Record<Lifetime, { step: Step; undo: () => Promise<unknown> }[]> = { test: [], file: [] };

/** Has `undo` called when the lifetime ends. */
export function onCleanUp(lifetime: Lifetime, step: Step, undo: () => Promise<unknown>): void {
  undone[lifetime].push({ step, undo });
}

async function cleanUp(lifetime: Lifetime): Promise<void> {
  const all = undone[lifetime].splice(0);
  for (const step of STEPS) {
    await Promise.all(all.filter((each) => each.step === step).map(({ undo }) => undo()));
  }
}

// Every file that makes something with these helpers gets its end of it by importing them.
afterEach(() => cleanUp('test'));
afterAll(() => cleanUp('file'));
