import { createServer, type RequestListener } from 'node:http';
import connect from 'connect';
import express from 'express';
import { adminMiddleware } from '../../lib/express/index.js';
import { type ServingHost, servedPlaneContract } from '../contracts/served-plane.js';
import { close, listen } from '../express/http.js';
import { onCleanUp } from '../support/clean-up.js';

// The types of Express 5 serve for both: what the tests use of Express 4 is the same.
const express4 = jest.requireActual<typeof express>('express4');

function serving(
  prefix: string,
  build: (admin: ReturnType<typeof adminMiddleware>) => RequestListener,
): ServingHost {
  return {
    prefix,
    serve(sender, options) {
      const server = createServer(build(adminMiddleware(sender, options)));
      onCleanUp('file', 'receiver', () => close(server));
      return listen(server);
    },
  };
}

describe.each<[string, ServingHost]>([
  ['Express 5', serving('/admin', (admin) => express().use('/admin', admin))],
  ['Express 4', serving('/admin', (admin) => express4().use('/admin', admin))],
  [
    'nested routers',
    serving('/api/acme/v1/admin', (admin) =>
      express().use('/api/:org', express.Router().use('/v1/admin', admin)),
    ),
  ],
  ['connect', serving('/admin', (admin) => connect().use('/admin', admin))],
])('mounted in %s', (_name, host) => servedPlaneContract(host));
