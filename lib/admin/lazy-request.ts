/** What authorizers go by that need no more of a request. A native `Request` has all of it. */
export interface RequestHead {
  readonly method: string;
  readonly url: string;
  readonly headers: Pick<Headers, 'get' | 'has'>;
}

/** A request that is made when somebody asks for it: to make a native one takes as long as many a route does. */
export interface LazyRequest {
  readonly head: RequestHead;
  /** The same one each time. */
  native(): Request;
}

export function lazyRequest(head: RequestHead, make: () => Request): LazyRequest {
  let made: Request | undefined;
  return {
    head,
    native() {
      made ??= make();
      return made;
    },
  };
}

/** One that is there already. */
export function givenRequest(request: Request): LazyRequest {
  return { head: request, native: () => request };
}
