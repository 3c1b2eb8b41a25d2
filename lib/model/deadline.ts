/**
 * Rejects when a promise has not settled in time: who is late must not hold what others wait for.
 * @param late the error to reject with, or who is late
 */
export function within<T>(answer: Promise<T>, ms: number, late: string | (() => Error)): Promise<T> {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const error = () =>
    typeof late === 'string' ? new Error(`${late} did not answer within ${ms} ms`) : late();
  const over = new Promise<never>((_resolve, reject) => {
    timer = setTimeout(() => reject(error()), ms);
  });
  return Promise.race([answer, over]).finally(() => clearTimeout(timer));
}
