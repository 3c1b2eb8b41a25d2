import type { Attempt, Message, MessageStatus } from '../../lib/model/message.js';
import type { Sender } from '../../lib/sender/sender.js';
import { startReceiver } from '../support/receiver.js';
import { eventually, waitFor } from '../support/wait-for.js';

/**
 * Lets the sender take a few turns, in which it would have leased whatever was due: sends messages to an endpoint of
 * their own, one after another, and waits for each. What has not arrived after it was not going to.
 */
export async function takeTurns(sender: Sender, turns = 3): Promise<void> {
  const receiver = await startReceiver();
  const { id } = await sender.endpoints.create({
    url: receiver.url(),
    tenantId: 'probe',
    types: ['hookplane.probe'],
  });
  for (let turn = 1; turn <= turns; turn++) {
    const sent = await sender.send({ type: 'hookplane.probe', data: turn, tenantId: 'probe' });
    await receiver.waitFor(turn);
    await untilStatus(sender, sent.id, 'delivered');
  }
  await sender.endpoints.delete(id);
}

export async function untilStatus(sender: Sender, messageId: string, status: MessageStatus): Promise<void> {
  await eventually(async () => expect(await sender.messages.get(messageId)).toMatchObject({ status }));
}

/** The attempts of a message, as soon as there are so many. */
export function untilAttempts(
  sender: Sender,
  message: Pick<Message, 'id'>,
  count: number,
): Promise<Attempt[]> {
  return waitFor(async () => {
    const { attempts } = await sender.messages.attempts(message.id, { limit: 1000 });
    return attempts.length >= count && attempts;
  });
}
