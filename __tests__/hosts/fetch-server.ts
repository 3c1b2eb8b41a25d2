import { createServer, type Server } from 'node:http';
import { Readable } from 'node:stream';

export type FetchHandler = (request: Request) => Response | Promise<Response>;

/**
 * Serves a Fetch handler as Bun, Deno and Next.js do: native requests with their whole URL, a stream for the body of
 * every POST, and what is not read of it left where it is.
 */
export function createFetchServer(handle: FetchHandler): Server {
  return createServer(async (req, res) => {
    const left = new AbortController();
    res.once('close', () => {
      if (!res.writableFinished) left.abort();
    });
    const response = await answer(handle, () => {
      const hasBody = req.method !== 'GET' && req.method !== 'HEAD';
      const init = {
        method: req.method,
        headers: Object.entries(req.headersDistinct).map(([name, values]) => [name, values!.join(', ')]),
        signal: left.signal,
        ...(hasBody && { body: Readable.toWeb(req), duplex: 'half' }),
      };
      return new Request(`http://${req.headers.host}${req.url}`, init as RequestInit);
    });
    const body = req.method === 'HEAD' ? '' : Buffer.from(await response.arrayBuffer());
    res.writeHead(response.status, Object.fromEntries(response.headers)).end(body);
  });
}

async function answer(handle: FetchHandler, toRequest: () => Request): Promise<Response> {
  let request: Request;
  try {
    request = toRequest();
  } catch {
    return new Response(null, { status: 400 });
  }
  return handle(request);
}
