/** A stream that the program writes to. */
export interface Output {
  /** Resolves when it may go on: a reader that is slow makes it wait. */
  write(text: string): Promise<void>;
  isTTY: boolean;
  columns: number;
}

/** All that the program has of the process it runs in. */
export interface CliIo {
  stdout: Output;
  stderr: Output;
  env: Readonly<Record<string, string | undefined>>;
  /** Has a listener called when somebody asks the program to stop. @returns a function that ends it */
  onInterrupt(listener: () => void): () => void;
}

/** One that asks to stop, as a signal that waits can be cut short by. */
export function interruptOf({ onInterrupt }: CliIo): { signal: AbortSignal; release(): void } {
  const controller = new AbortController();
  const release = onInterrupt(() => {
    controller.abort();
    // The second time it is the end, whatever is under way.
    release();
  });
  return { signal: controller.signal, release };
}
