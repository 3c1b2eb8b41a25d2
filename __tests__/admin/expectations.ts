import { STATUS_BY_CODE } from '../../lib/admin/response.js';
import type { AdminErrorCode } from '../../lib/model/errors.js';
import { type Answer, paths } from './plane.js';

/** An id as the records show it. */
export const anId = (prefix: 'ep' | 'msg' | 'att' | 'req' | 'aud') =>
  expect.stringMatching(new RegExp(`^${prefix}_[0-9a-z]{26,32}$`)) as string;

export const aSentence = expect.stringMatching(/^\P{Cc}{5,500}$/u) as string;

export const JSON_TYPE = 'application/json; charset=utf-8';
/** What the metrics are written in, and nothing else. */
export const METRICS_TYPE = 'text/plain; version=0.0.4; charset=utf-8';

/** Every answer says so, whatever it answers. */
export function expectOwnHeaders(answer: Answer, type = JSON_TYPE): void {
  expect(Object.fromEntries(answer.headers)).toMatchObject({
    'content-type': type,
    'cache-control': 'no-store',
    'x-content-type-options': 'nosniff',
    'referrer-policy': 'no-referrer',
  });
}

/** The status of the code, and the code and a sentence in the body and nothing else. */
export function expectError(answer: Answer, errorCode: AdminErrorCode, error: string = aSentence): void {
  const { issues, ...body } = answer.body;
  expect({ status: answer.status, body }).toEqual({
    status: STATUS_BY_CODE[errorCode],
    body: { errorCode, error },
  });
  expect(issues === undefined).toBe(!errorCode.endsWith('_VALIDATION'));
  expectOwnHeaders(answer);
}

/** A validation error that names exactly these fields. */
export function expectIssues(answer: Answer, errorCode: AdminErrorCode, fields: string[]): void {
  expectError(answer, errorCode);
  expect(paths(answer)).toEqual(fields);
  for (const issue of answer.body.issues ?? []) {
    expect(issue).toEqual({ path: expect.any(String), message: aSentence });
  }
}

/** A success: exactly this status and body. */
export function expectAnswer(answer: Answer, status: number, body: unknown): void {
  expect({ status: answer.status, body: answer.body }).toEqual({ status, body });
  expectOwnHeaders(answer);
}
