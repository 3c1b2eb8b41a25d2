// The other side: in real life your customers' servers.
import { createServer } from 'node:http';

createServer(async (request, response) => {
  console.log(Buffer.concat(await request.toArray()).toString());
  response.end();
}).listen(4000);
