import { headerProblems } from '../../lib/model/headers.js';

test.each([
  ['the sender owns', ['Webhook-Id', 'Content-Type', 'User-Agent', 'Accept-Encoding', 'traceparent']],
  ['the connection owns', ['Host', 'Connection', 'Transfer-Encoding', 'HTTP2-Settings', 'Expect']],
  [
    'the metadata service of a cloud goes by',
    [
      'Metadata',
      'Metadata-Flavor',
      'X-Google-Metadata-Request',
      'X-aws-ec2-metadata-token',
      'X-aws-ec2-metadata-token-ttl-seconds',
    ],
  ],
  [
    'a server takes for the address of its client',
    ['X-Real-IP', 'True-Client-IP', 'CF-Connecting-IP', 'X-Forwarded-For', 'Forwarded'],
  ],
])('what %s cannot be a header of an endpoint, in whatever case', (_whose, names) => {
  for (const name of names.flatMap((each) => [each, each.toLowerCase(), each.toUpperCase()])) {
    expect(headerProblems({ [name]: 'a' })).toEqual([
      { name, problem: 'is a reserved header and cannot be set' },
    ]);
  }
});

test('any other may be one', () => {
  expect(headerProblems({ authorization: 'Bearer x', accept: '*/*', 'x-metadata': 'a' })).toEqual([]);
});
