/** Runs what it is given one after the other, in the order in which it is given. */
export type InTurn = <T>(run: () => Promise<T>) => Promise<T>;

export function createInTurn(): InTurn {
  let last: Promise<unknown> = Promise.resolve();
  return (run) => {
    const done = last.then(run);
    last = done.catch(() => {});
    return done;
  };
}
