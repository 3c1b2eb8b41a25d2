import type { IncomingMessage } from 'node:http';
import connect from 'connect';
import express from 'express';
import type { NodeMiddleware } from '../../lib/express/node-bridge.js';
import { type Host, mountContract, type Parser, type Step } from '../contracts/mount.js';

// The types of Express 5 serve for both: what the tests use of Express 4 is the same.
const express4 = jest.requireActual<typeof express>('express4');

/** The part of an Express application and of a connect one that is the same. */
interface App {
  use(step: Step): unknown;
  use(path: string, step: Step | NodeMiddleware): unknown;
}

function mountIn<T extends App>(
  app: T,
  path: string,
  middleware: NodeMiddleware,
  before: Step[],
  after: Step,
): T {
  for (const step of before) app.use(step);
  app.use(path, middleware);
  app.use(after);
  return app;
}

const hosts: Host[] = [
  {
    name: 'Express 5',
    prefix: '/admin',
    listener: (middleware, { before, after }) => mountIn(express(), '/admin', middleware, before, after),
  },
  {
    name: 'Express 4',
    prefix: '/admin',
    listener: (middleware, { before, after }) => mountIn(express4(), '/admin', middleware, before, after),
  },
  {
    name: 'nested routers',
    prefix: '/api/acme/v1/admin',
    listener: (middleware, { before, after }) =>
      express().use('/api/:org', mountIn(express.Router(), '/v1/admin', middleware, before, after)),
  },
  {
    name: 'connect',
    prefix: '/admin',
    listener: (middleware, { before, after }) => mountIn(connect(), '/admin', middleware, before, after),
  },
  {
    name: 'node:http',
    prefix: '',
    listener: (middleware, { before }) => {
      return (req, res) => {
        const run = ([step, ...rest]: Step[]): void => {
          if (step) step(req, res, () => run(rest));
          else void middleware(req, res);
        };
        run(before);
      };
    },
  },
];

const keepRawBody = (req: IncomingMessage, _res: unknown, rawBody: Buffer): void => {
  Object.assign(req, { rawBody });
};

const parsers: Parser[] = [
  { name: 'no parser', steps: [] },
  { name: 'express.json()', steps: [express.json()] as Step[], objectsOnly: true },
  { name: 'express.json({ strict: false })', steps: [express.json({ strict: false })] as Step[] },
  {
    name: 'express.json() and express.urlencoded() that keep rawBody',
    steps: [express.json({ verify: keepRawBody }), express.urlencoded({ verify: keepRawBody })] as Step[],
    objectsOnly: true,
  },
  { name: 'express.raw()', steps: [express.raw({ type: '*/*' })] as Step[] },
  { name: 'express.text()', steps: [express.text({ type: '*/*' })] as Step[] },
  { name: 'express.urlencoded()', steps: [express.urlencoded({ extended: true })] as Step[] },
];

describe.each(hosts)('mounted in $name', (host) => {
  describe.each(parsers)('behind $name', (parser) => mountContract(host, parser));
});
