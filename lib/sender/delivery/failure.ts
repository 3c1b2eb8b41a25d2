import type { ErrorKind } from '../../model/message.js';

const UNSENDABLE = new Set([
  'UND_ERR_INVALID_ARG',
  'UND_ERR_NOT_SUPPORTED',
  'UND_ERR_REQ_CONTENT_LENGTH_MISMATCH',
]);

/** Why no response came; the message is the sentence that the customer reads. */
export class DeliveryFailure extends Error {
  readonly kind: ErrorKind;

  constructor(kind: ErrorKind, message: string) {
    super(message);
    this.kind = kind;
  }
}

/** Never says which address it was: the name is the customer's, the network behind it is the operator's. */
export function blockedAddress(): DeliveryFailure {
  return new DeliveryFailure(
    'blocked_address',
    'The host name resolves to an address that this sender does not deliver to; no connection was made.',
  );
}

export function dnsFailure(error: unknown): DeliveryFailure {
  const code = codeOf(error);
  if (code === 'ENOTFOUND' || code === 'ENODATA') {
    return new DeliveryFailure('dns', 'The host name does not exist or has no address.');
  }
  return new DeliveryFailure(
    'dns',
    code === 'ETIMEOUT'
      ? 'The name servers did not answer in time.'
      : `The host name could not be resolved (${code}).`,
  );
}

/** What went wrong between the first packet and the moment a request could be written. */
export function connectFailure(error: unknown, phase: 'tcp' | 'tls'): DeliveryFailure {
  const code = codeOf(error);
  if (phase === 'tls') return new DeliveryFailure('tls', tlsSentence(code));
  if (code === 'ECONNREFUSED') return new DeliveryFailure('connect', 'The receiver refused the connection.');
  return new DeliveryFailure(
    'connect',
    code === 'UND_ERR_CONNECT_TIMEOUT'
      ? 'The receiver did not accept the connection in time.'
      : `No connection to the receiver could be made (${code}).`,
  );
}

/** Why the egress proxy was not reached. Does not name it: the network is the operator's. */
export function proxyUnreachable(error: unknown): DeliveryFailure {
  const code = codeOf(error);
  return new DeliveryFailure(
    'connect',
    code === 'UND_ERR_CONNECT_TIMEOUT'
      ? 'The egress proxy did not accept the connection in time.'
      : `The egress proxy could not be reached (${code}).`,
  );
}

/** Why the egress proxy gave no answer to CONNECT. */
export function proxyFailure(error: unknown): DeliveryFailure {
  const code = codeOf(error);
  if (code === 'UND_ERR_HEADERS_TIMEOUT') {
    return new DeliveryFailure('connect', 'The egress proxy did not connect to the receiver in time.');
  }
  return new DeliveryFailure(
    'connect',
    code === 'UND_ERR_SOCKET' || code === 'ECONNRESET' || code === 'EPIPE'
      ? 'The egress proxy closed the connection without an answer.'
      : 'The egress proxy did not answer with valid HTTP.',
  );
}

/** What a status other than 2xx to CONNECT says. Some proxies answer 407 for what their rules forbid, too. */
export function proxyRefusal(status: number): DeliveryFailure {
  const error =
    status === 407
      ? "The egress proxy refuses this sender's credentials, or the receiver (it answered 407)."
      : `The egress proxy did not connect to the receiver (it answered ${status}).`;
  return new DeliveryFailure('connect', error);
}

/** What went wrong after the request was written and before the head of a response was complete. */
export function responseFailure(error: unknown): DeliveryFailure {
  if (error instanceof DeliveryFailure) return error;
  const code = codeOf(error);
  const message = messageOf(error);
  if (code === 'UND_ERR_HEADERS_OVERFLOW') {
    return new DeliveryFailure('invalid_response', 'The headers of the response are larger than 16 KiB.');
  }
  if (code === 'UND_ERR_SOCKET' && message.startsWith('bad ')) {
    return new DeliveryFailure(
      'invalid_response',
      'The receiver sent a response that nothing was asked of it for (such as 100 or 101).',
    );
  }
  if (code === 'UND_ERR_SOCKET' || code === 'ECONNRESET' || code === 'EPIPE' || code === 'ECONNABORTED') {
    return new DeliveryFailure('reset', 'The receiver closed the connection without a response.');
  }
  if (/^(?:ERR_SSL|ERR_TLS|EPROTO)/.test(code)) return new DeliveryFailure('tls', tlsSentence(code));
  if (code === 'ETIMEDOUT' || code === 'EHOSTUNREACH' || code === 'ENETUNREACH') {
    return new DeliveryFailure('reset', `The connection to the receiver was lost (${code}).`);
  }
  // Before anything is sent: undici refuses header names and values that HTTP cannot carry.
  if (UNSENDABLE.has(code)) {
    return new DeliveryFailure('transform', `The request could not be built: ${message}.`);
  }
  return new DeliveryFailure('invalid_response', 'The receiver did not answer with valid HTTP.');
}

function tlsSentence(code: string): string {
  if (code === 'ERR_TLS_CERT_ALTNAME_INVALID') return "The receiver's certificate is for another host name.";
  if (code === 'CERT_HAS_EXPIRED') return "The receiver's certificate has expired.";
  if (/SELF_SIGNED|UNABLE_TO_(?:GET|VERIFY)/.test(code)) {
    return `The receiver's certificate is not signed by a trusted authority, or a certificate between them is missing (${code}).`;
  }
  return code === 'UND_ERR_CONNECT_TIMEOUT'
    ? 'The receiver did not complete the TLS handshake in time.'
    : `The TLS handshake with the receiver failed (${code}).`;
}

/** Not by `instanceof`: in Jest and in other `vm` contexts Node's errors are of another realm. */
function codeOf(error: unknown): string {
  const { code } = (error ?? {}) as { code?: unknown };
  return typeof code === 'string' ? code : 'unknown error';
}

function messageOf(error: unknown): string {
  const { message } = (error ?? {}) as { message?: unknown };
  return typeof message === 'string' ? message : '';
}
