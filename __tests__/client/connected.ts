import { type AdminClient, type AdminClientOptions, createAdminClient } from '../../lib/client/index.js';
import { openPlane, type Plane, type PlaneOptions } from '../admin/plane.js';

export const BASE_URL = 'https://app.example.com/admin';

export interface Connected {
  plane: Plane;
  client: AdminClient;
  /** What the client has asked, as `GET /endpoints?limit=1` below the mount. */
  asked: string[];
  requests: Request[];
}

export interface ConnectedOptions extends PlaneOptions {
  client?: Partial<AdminClientOptions>;
}

/** A client whose requests go to the handler of a control plane, without a socket between them. */
export async function connect({ client, ...options }: ConnectedOptions = {}): Promise<Connected> {
  const plane = await openPlane({ ...options, admin: { basePath: '/admin', ...options.admin } });
  const requests: Request[] = [];
  const asked: string[] = [];
  return {
    plane,
    requests,
    asked,
    client: createAdminClient({
      baseUrl: BASE_URL,
      fetch: (url, init) => {
        const request = new Request(url, init);
        requests.push(request);
        asked.push(`${init.method} ${url.slice(BASE_URL.length)}`);
        return plane.handler(request);
      },
      ...client,
    }),
  };
}

/** Answers in their order, the last one again and again; counts how often it was asked. */
export function scripted(...answers: (() => Response | Promise<Response>)[]) {
  const urls: string[] = [];
  const inits: RequestInit[] = [];
  return {
    urls,
    inits,
    fetch: async (url: string, init: RequestInit): Promise<Response> => {
      urls.push(url);
      inits.push(init);
      const answer = answers[Math.min(urls.length, answers.length) - 1]!;
      return answer();
    },
  };
}

/** What a promise is rejected with; fails when it is not. */
export async function rejection(promise: Promise<unknown>): Promise<unknown> {
  return promise.then(
    (value) => {
      throw new Error(`It was not rejected, but resolved with ${JSON.stringify(value)}`);
    },
    (error: unknown) => error,
  );
}
