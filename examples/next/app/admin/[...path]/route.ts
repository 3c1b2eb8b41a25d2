// The control plane as a route handler of Next.js.
import { type AdminHandler, bearerToken, createAdminHandler } from 'hookplane';
import { sender } from '@/webhooks';

let admin: AdminHandler | undefined;

// Of the request alone: Next.js gives a second argument of its own, which is not the handler's.
function handle(request: Request): Promise<Response> {
  // With the first request, because `next build` loads this file, too, and need not know the token.
  admin ??= createAdminHandler(sender, {
    authorize: bearerToken(process.env.ADMIN_TOKEN!),
    basePath: '/admin',
  });
  return admin(request);
}

// Also those that the control plane answers with 405: what is not exported Next.js answers by itself.
export {
  handle as DELETE,
  handle as GET,
  handle as HEAD,
  handle as OPTIONS,
  handle as PATCH,
  handle as POST,
  handle as PUT,
};
