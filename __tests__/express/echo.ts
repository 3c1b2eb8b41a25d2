import type { NodeContext } from '../../lib/express/node-bridge.js';

/** What a handler was given, as it tells it. */
export interface Echo {
  method: string;
  requestMethod: string;
  path: string;
  url: string;
  headers: Record<string, string>;
  body: string;
}

export async function echo(request: Request, context: NodeContext): Promise<Response> {
  const heard: Echo = {
    method: context.method,
    requestMethod: request.method,
    path: context.path,
    url: request.url,
    headers: Object.fromEntries(request.headers),
    body: await request.text(),
  };
  return Response.json(heard);
}
