import { servedPlaneContract } from '../contracts/served-plane.js';
import { stacks, startApp } from './kit.js';

describe.each(stacks)('the control plane of $name', (stack) => {
  servedPlaneContract({
    prefix: '/admin',
    // By Nest, which finds no route for it before there is any middleware.
    brokenEscapeStatus: stack.platform === 'fastify' ? 404 : 400,
    async serve(sender, { basePath: _, ...options }) {
      const root = stack.kit.hookplane.HookplaneModule.forRoot({ sender, ...options, start: false });
      // Nest's own parser would answer what it cannot read, on Express, where it comes first.
      const { port } = await startApp(stack, root, { lifetime: 'file', bodyParser: false });
      return port;
    },
  });
});
