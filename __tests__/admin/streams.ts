/** A body that counts what is pulled out of it: nothing flows unless somebody reads. */
export interface CountedBody {
  stream: ReadableStream<Uint8Array>;
  /** How many bytes have been pulled so far. */
  pulled(): number;
  /** Whether the reader gave it up before its end. */
  canceled(): boolean;
}

/** Hands out the chunks one by one; an Error in place of one breaks the body off there. */
export function countedBody(chunks: Iterable<Uint8Array | Error>): CountedBody {
  const rest = chunks[Symbol.iterator]();
  let pulled = 0;
  let canceled = false;
  const stream = new ReadableStream<Uint8Array>(
    {
      pull(controller) {
        const { done, value } = rest.next();
        if (done) controller.close();
        else if (value instanceof Error) controller.error(value);
        else {
          pulled += value.byteLength;
          controller.enqueue(value);
        }
      },
      cancel() {
        canceled = true;
      },
    },
    { highWaterMark: 0 },
  );
  return { stream, pulled: () => pulled, canceled: () => canceled };
}

/** Text in chunks of a few bytes, which cut characters and JSON tokens in two. */
export function* inPieces(text: string, size = 7): Generator<Uint8Array> {
  const bytes = Buffer.from(text);
  for (let start = 0; start < bytes.length; start += size) yield bytes.subarray(start, start + size);
}

/** `total` bytes in chunks of `chunk`, made when they are pulled. */
export function* filler(total: number, chunk = 16_384): Generator<Uint8Array> {
  for (let made = 0; made < total; made += chunk)
    yield new Uint8Array(Math.min(chunk, total - made)).fill(32);
}
