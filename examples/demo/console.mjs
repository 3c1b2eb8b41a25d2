// What the demo shows: a line for each attempt, and the commands.
import { styleText } from 'node:util';

const colored = process.stdout.isTTY && !process.env.NO_COLOR;
const paint = (style, text) => (colored ? styleText(style, text) : text);

/** Prints what the sender does. `nameOf` gives the name of an endpoint by its id. */
export function printEvents(sender, nameOf) {
  sender.on('attempt', ({ attempt, messageType }) => {
    const { status, endpointId, number, trigger, responseStatus, durationMs, nextAttemptAt } = attempt;
    const delivered = status === 'succeeded';
    line(
      paint(delivered ? 'green' : 'red', (delivered ? 'delivered' : 'failed').padEnd(9)),
      messageType.padEnd(14),
      `to ${nameOf(endpointId)}`.padEnd(15),
      `attempt ${number}${trigger === 'replay' ? ' (replay)' : ''}`,
      String(responseStatus ?? attempt.errorKind),
      `${durationMs} ms`.padStart(5),
      ...signatureOf(attempt),
      ...(nextAttemptAt ? [`next attempt in ${secondsUntil(nextAttemptAt)} s`] : []),
    );
  });
  sender.on('dead', ({ messageId, endpointId, error }) => {
    line(paint('red', 'given up '), `${messageId} to ${nameOf(endpointId)}: ${error}`);
  });
  sender.on('paused', ({ endpoint }) => line(`paused    ${nameOf(endpoint.id)} (${endpoint.pausedReason})`));
}

/** The receiver says in its answer whether the signature was right. */
function signatureOf({ responseBody }) {
  try {
    return [`signature ${JSON.parse(responseBody).signature}`];
  } catch {
    return [];
  }
}

function secondsUntil(time) {
  return (Math.max(0, Date.parse(time) - Date.now()) / 1000).toFixed(1);
}

function line(...parts) {
  console.log(`${paint('dim', new Date().toTimeString().slice(0, 8))}  ${parts.join('  ')}`);
}

/** A logger for the sender: what it warns of, in the same shape. */
export const logger = {
  error: (message, fields) =>
    line(paint('red', 'error    '), message, ...(fields ? [JSON.stringify(fields)] : [])),
  warn: (message, fields) => line('note     ', message, ...(fields ? [JSON.stringify(fields)] : [])),
  info: () => {},
  debug: () => {},
};

/** @param groups each a remark and the commands that belong to it */
export function textOf(groups) {
  return groups
    .map(
      ([remark, ...commands]) => `\n  # ${remark}\n${commands.map((command) => `  ${command}\n`).join('')}`,
    )
    .join('');
}
