/**
 * Walks a list from `request.cursor` on, page by page. A page is asked for when the one before it has been used up, so
 * who stops early asks for no more.
 */
export async function* walkPages<
  Request extends { cursor?: string | undefined },
  Page extends { nextCursor: string | null },
>(request: Request, read: (request: Request) => Promise<Page>): AsyncGenerator<Page, void, undefined> {
  let cursor: string | null | undefined = request.cursor;
  do {
    const page = await read(cursor === undefined ? request : { ...request, cursor });
    yield page;
    cursor = page.nextCursor;
  } while (cursor !== null);
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
