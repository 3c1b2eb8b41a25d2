import { createAdminHandler } from '../../lib/admin/handler.js';
import { anId } from './expectations.js';
import { openPlane } from './plane.js';

test('a handler that is given a request whose headers cannot be read answers 500 and tells of it', async () => {
  const { sender } = await openPlane();
  const onError = jest.fn();
  const request = {
    method: 'POST',
    url: 'http://localhost/endpoints',
    get headers(): Headers {
      throw new Error('gone');
    },
  };
  const handler = createAdminHandler(sender, { authorize: () => true, onError });
  expect((await handler(request as Request)).status).toBe(500);
  expect(onError).toHaveBeenCalledWith(new Error('gone'), { requestId: anId('req') });
});
