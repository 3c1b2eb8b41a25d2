import { createServer } from 'node:http';
import { adminMiddleware } from '../../lib/express/index.js';
import { servedPlaneContract } from '../contracts/served-plane.js';
import { close, listen } from '../express/http.js';
import { onCleanUp } from '../support/clean-up.js';
import { exampleContract, servedByExample } from './examples.js';

describe('examples/node-http/server.mjs', () => {
  exampleContract('node-http/server.mjs');
  servedPlaneContract(servedByExample('node-http/server.mjs'));
});

describe('a server that is the control plane and nothing else', () => {
  servedPlaneContract({
    prefix: '',
    serve(sender, options) {
      const server = createServer(adminMiddleware(sender, options));
      onCleanUp('file', 'receiver', () => close(server));
      return listen(server);
    },
  });
});
