/** Waits until a worker has nothing left. */
export function createDrain(isEmpty: () => boolean) {
  let drained: (() => void) | undefined;
  return {
    /** To be called whenever something has ended. */
    look(): void {
      if (isEmpty()) drained?.();
    },
    /** Whether nothing is left before the time is over. */
    within(ms: number): Promise<boolean> {
      if (isEmpty()) return Promise.resolve(true);
      return new Promise((resolve) => {
        const limit = setTimeout(resolve, ms, false);
        drained = () => {
          clearTimeout(limit);
          resolve(true);
        };
      });
    },
  };
}
