import { HookplaneError } from '../model/errors.js';

/** A source of a body: an iterator, or what a reader of a stream is turned into. */
export type ByteSource = Pick<AsyncIterator<Uint8Array, undefined>, 'next' | 'return'>;

/**
 * The bytes of a body for several readers. Nothing is read by itself: what one of them pulls is kept, and the others
 * read what was kept and then the rest.
 */
export class BodyBytes {
  /** Of a larger body no more is pulled. */
  maxBytes = Number.POSITIVE_INFINITY;
  readonly #open: () => ByteSource;
  readonly #chunks: Uint8Array[] = [];
  #size = 0;
  #source: ByteSource | undefined;
  /** It stays when it has failed: an authorizer may have caught that, and whoever asks again is told again. */
  #pulling: Promise<boolean> | undefined;

  /** @param open called when somebody reads for the first time */
  constructor(open: () => ByteSource) {
    this.#open = open;
  }

  /** The chunk at a position, pulled when nobody has yet; undefined at the end. */
  async at(index: number): Promise<Uint8Array | undefined> {
    while (index >= this.#chunks.length) {
      this.#pulling ??= this.#pull();
      if (!(await this.#pulling)) return undefined;
    }
    return this.#chunks[index];
  }

  /** All of it. */
  async whole(): Promise<Uint8Array> {
    while (await this.at(this.#chunks.length));
    return this.#chunks.length === 1 ? this.#chunks[0]! : Buffer.concat(this.#chunks, this.#size);
  }

  /** A byte stream, because only that kind stays unread when it is cloned. */
  stream(): ReadableStream<Uint8Array> {
    let next = 0;
    const pull = async (controller: ReadableByteStreamController): Promise<void> => {
      const chunk = await this.at(next++);
      if (chunk) {
        // A copy, because the stream takes the memory of what it is given, and Node.js cuts chunks from shared memory.
        controller.enqueue(new Uint8Array(chunk));
        return;
      }
      controller.close();
      // Closing alone leaves a reader that brought its own buffer waiting.
      controller.byobRequest?.respond(0);
    };
    return new ReadableStream({ type: 'bytes', pull }, { highWaterMark: 0 });
  }

  async #pull(): Promise<boolean> {
    this.#source ??= this.#open();
    const { done, value } = await this.#source.next();
    if (done) return false;
    this.#size += value.byteLength;
    if (this.#size > this.maxBytes) {
      this.#source.return?.().catch(() => {});
      throw tooLarge(this.maxBytes);
    }
    if (value.byteLength > 0) this.#chunks.push(value);
    this.#pulling = undefined;
    return true;
  }
}

export function tooLarge(maxBytes: number): HookplaneError {
  return new HookplaneError('BODY_TOO_LARGE', `The body is larger than ${maxBytes} bytes`);
}
