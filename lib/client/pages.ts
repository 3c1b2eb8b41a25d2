import { excerpt } from './answer.js';
import { AdminClientError } from './client-error.js';

/** Whether a page has what it is for. */
export type IsContent = (content: unknown) => boolean;

/**
 * Walks a list from `request.cursor` on, page by page. A page is asked for when the one before it has been used up, so
 * who stops early asks for no more. What is no page ends the walk with an error, as a cursor does that was there before:
 * without an end, a replay would be asked for again and again.
 * @param field what a page has beside its `nextCursor`
 * @throws AdminClientError `UNEXPECTED_ANSWER`
 */
export async function* walkPages<
  Request extends { cursor?: string | undefined },
  Page extends { nextCursor: string | null },
>(
  request: Request,
  read: (request: Request) => Promise<Page>,
  field: string,
  isContent: IsContent = Array.isArray,
): AsyncGenerator<Page, void, undefined> {
  let cursor: string | null | undefined = request.cursor;
  const seen = new Set<string | null | undefined>([cursor]);
  do {
    const page = await read(cursor === undefined ? request : { ...request, cursor });
    cursor = page.nextCursor;
    if (
      !isContent((page as Record<string, unknown>)[field]) ||
      (cursor !== null && typeof cursor !== 'string')
    ) {
      throw unexpected(`The answer is no page of ${field}: ${excerpt(JSON.stringify(page))}`);
    }
    if (cursor !== null && seen.has(cursor)) {
      throw unexpected(`The cursor ${JSON.stringify(cursor)} came back: the list of ${field} has no end`);
    }
    seen.add(cursor);
    yield page;
  } while (cursor !== null);
}

function unexpected(message: string): AdminClientError {
  return new AdminClientError('UNEXPECTED_ANSWER', message, { status: 200 });
}

/** The rows of all pages, one after another. */
export async function* walkRows<Page, Row>(
  pages: AsyncIterable<Page>,
  rowsOf: (page: Page) => readonly Row[],
): AsyncGenerator<Row, void, undefined> {
  for await (const page of pages) yield* rowsOf(page);
}

/** Each page together with how much it and those before it have come to. */
export async function* countUp<Page>(
  pages: AsyncIterable<Page>,
  countOf: (page: Page) => number,
): AsyncGenerator<Page & { total: number }, void, undefined> {
  let total = 0;
  for await (const page of pages) {
    total += countOf(page);
    yield { ...page, total };
  }
}
