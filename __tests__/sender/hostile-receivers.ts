import type { Socket } from 'node:net';
import { gzipSync } from 'node:zlib';
import type { ErrorKind } from '../../lib/model/message.js';
import { endlessly } from './loopback-receiver.js';

/** What is written when a request comes, or what is done with its connection. */
type Answer = string | Buffer | ((socket: Socket) => void);

const STATUS_200 = 'HTTP/1.1 200 OK\r\n';
const EMPTY = 'Content-Length: 0\r\n\r\n';
const CHUNKED = 'Transfer-Encoding: chunked\r\n\r\n';

export function answerBy(answer: Answer, socket: Socket, start = ''): void {
  if (start !== '') socket.write(start);
  if (typeof answer === 'function') answer(socket);
  else socket.write(answer);
}

/** One byte after the other, until the connection is gone. */
function drip(socket: Socket, text: string, start = ''): void {
  socket.write(start);
  let sent = 0;
  const timer = setInterval(() => socket.write(text[sent++ % text.length] ?? ''), 20);
  socket.once('close', () => clearInterval(timer));
}

/** A receiver that … gives no response that could be used, and the attempt fails as this. */
export const WITHOUT_RESPONSE: readonly [string, Answer, ErrorKind][] = [
  ['says nothing', () => {}, 'timeout'],
  ['stops in the middle of its headers', `${STATUS_200}Content-Le`, 'timeout'],
  ['drips its headers', (socket) => drip(socket, `${STATUS_200}X: ${'y'.repeat(5000)}`), 'timeout'],
  ['drips interim responses', (socket) => drip(socket, 'HTTP/1.1 103 Early Hints\r\n\r\n'), 'timeout'],
  ['sends empty lines alone', '\r\n'.repeat(1000), 'timeout'],
  ['resets the connection', (socket) => socket.resetAndDestroy(), 'reset'],
  [
    'resets the connection in the middle of its headers',
    (socket) => socket.write(`${STATUS_200}X: `, () => socket.resetAndDestroy()),
    'reset',
  ],
  ['closes the connection', (socket) => socket.end(), 'reset'],
  ['closes the connection in the middle of its headers', (socket) => socket.end(`${STATUS_200}X: `), 'reset'],
  ['greets like SSH', 'SSH-2.0-OpenSSH_9.6\r\n', 'invalid_response'],
  ['speaks TLS where plain HTTP was asked', Buffer.from('15030300020228', 'hex'), 'invalid_response'],
  ['speaks HTTP/2', Buffer.from('000000040000000000', 'hex'), 'invalid_response'],
  ['answers a page without headers', '<html></html>\r\n\r\n', 'invalid_response'],
  ['answers in a version that there is not', `HTTP/9.9 200 OK\r\n${EMPTY}`, 'invalid_response'],
  ['answers with status 000', `HTTP/1.1 000 Nothing\r\n${EMPTY}`, 'invalid_response'],
  ['answers with a status of words', `HTTP/1.1 OK\r\n${EMPTY}`, 'invalid_response'],
  ['sends a NUL in a header', `${STATUS_200}X: a\0b\r\n${EMPTY}`, 'invalid_response'],
  ['sends a header without a name', `${STATUS_200}: b\r\n${EMPTY}`, 'invalid_response'],
  ['sends two lengths', `${STATUS_200}Content-Length: 1\r\nContent-Length: 2\r\n\r\n`, 'invalid_response'],
  ['sends a negative length', `${STATUS_200}Content-Length: -1\r\n\r\n`, 'invalid_response'],
  [
    'sends a length past all numbers',
    `${STATUS_200}Content-Length: ${'9'.repeat(40)}\r\n\r\n`,
    'invalid_response',
  ],
  ['sends a length and chunks', `${STATUS_200}Content-Length: 3\r\n${CHUNKED}0\r\n\r\n`, 'invalid_response'],
  [
    'sends more headers than fit',
    `${STATUS_200}${`X: ${'a'.repeat(1000)}\r\n`.repeat(20)}\r\n`,
    'invalid_response',
  ],
  [
    'sends 10 000 headers',
    `${STATUS_200}${Array.from({ length: 10_000 }, (_value, index) => `X-${index}: y\r\n`).join('')}${EMPTY}`,
    'invalid_response',
  ],
  ['sends a header of 1 MiB', `${STATUS_200}X: ${'y'.repeat(1_048_576)}\r\n${EMPTY}`, 'invalid_response'],
  [
    'sends headers without end',
    (socket) => endlessly(socket, `X: ${'y'.repeat(500)}\r\n`, STATUS_200),
    'invalid_response',
  ],
  ...[102, 103, 199].map((status): [string, Answer, ErrorKind] => [
    `floods with ${status}`,
    (socket) => endlessly(socket, `HTTP/1.1 ${status} Wait\r\nLink: <${'a'.repeat(500)}>\r\n\r\n`),
    'invalid_response',
  ]),
  ['asks for the body it has got', `HTTP/1.1 100 Continue\r\n\r\n${STATUS_200}${EMPTY}`, 'invalid_response'],
  [
    'switches protocols',
    'HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: upgrade\r\n\r\n',
    'invalid_response',
  ],
];

/** Many members of 1 MiB of nothing each, small enough to be read whole. */
const GZIP_BOMB = Buffer.concat(Array(14).fill(gzipSync(Buffer.alloc(1_048_576))));

/** What follows a status line of HTTP/1.1, which decides, whatever the body does; and how the record of it begins. */
export const AFTER_STATUS: readonly [string, Answer, string][] = [
  ['never comes', 'Content-Length: 5\r\n\r\n', ''],
  ['stops half way', 'Content-Length: 500\r\n\r\nhalf', 'half'],
  ['drips', (socket) => drip(socket, '.', 'Content-Length: 90000\r\n\r\n'), '.'],
  ['breaks off', (socket) => socket.end('Content-Length: 500\r\n\r\nhalf'), 'half'],
  ['is reset', (socket) => socket.write('Content-Length: 9\r\n\r\nhalf', () => socket.resetAndDestroy()), ''],
  ['is badly chunked', `${CHUNKED}4\r\nhalf\r\nzzz\r\n`, 'half'],
  ['has a chunk without end', `${CHUNKED}ffffffffffff\r\nhalf`, 'half'],
  [
    'has a chunk with a long extension',
    (socket) => socket.end(`${CHUNKED}4;${'x'.repeat(100_000)}\r\nhalf\r\n0\r\n\r\n`),
    'half',
  ],
  [
    'has trailers without end',
    (socket) => endlessly(socket, 'X: y\r\n', `${CHUNKED}4\r\nhalf\r\n0\r\n`),
    'half',
  ],
  ['ends with the connection', (socket) => socket.end('\r\nhalf'), 'half'],
  ['is followed by more', `Content-Length: 4\r\n\r\nhalf${'HTTP/1.1 500 No\r\n'.repeat(3)}`, 'half'],
  ['is split into another response', `Content-Length: 4\r\n\r\nhalfHTTP/1.1 302 No\r\n${EMPTY}`, 'half'],
  [
    'comes in chunks of one byte without end',
    (socket) => endlessly(socket, '1\r\nh\r\n'.repeat(256), CHUNKED),
    'h'.repeat(4096),
  ],
  ['never ends', (socket) => endlessly(socket, 'half'.repeat(2048), '\r\n'), 'half'],
  [
    'claims 10 GB, and sends them',
    (socket) => endlessly(socket, 'half'.repeat(16_384), 'Content-Length: 10000000000\r\n\r\n'),
    'half',
  ],
  [
    'is a gzip bomb',
    (socket) => {
      socket.write(`Content-Encoding: gzip\r\nContent-Length: ${GZIP_BOMB.length}\r\n\r\n`);
      socket.end(GZIP_BOMB);
    },
    '\u001f',
  ],
];
