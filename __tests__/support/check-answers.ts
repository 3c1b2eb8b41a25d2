// Runs before every test file: whatever a test asks of the control plane, by whichever host, has to be answered as the
// OpenAPI document says. The test during which something else was answered fails.
import type * as Handler from '../../lib/admin/handler.js';
import type { RequestHead } from '../../lib/admin/lazy-request.js';
import type * as Response from '../../lib/admin/response.js';
import { normalizeBasePath } from '../../lib/model/base-path.js';
import type { AnswerCheck, createAnswerCheck } from './answer-check.js';
import type { lookThroughAnswer } from './check-secrets.js';

const problems: string[] = [];

jest.mock('../../lib/admin/handler.js', () => {
  const handler = jest.requireActual<typeof Handler>('../../lib/admin/handler.js');
  const { knownAnswer } = jest.requireActual<typeof Response>('../../lib/admin/response.js');
  let answers: AnswerCheck | undefined;

  const look = (
    base: string,
    request: RequestHead,
    context: Handler.HostContext | undefined,
    answer: Response.Answer,
  ) => {
    answers ??= jest
      .requireActual<{ createAnswerCheck: typeof createAnswerCheck }>('./answer-check.js')
      .createAnswerCheck();
    const path =
      context?.path !== undefined
        ? context.path
        : below(normalizeBasePath(base), new URL(request.url).pathname);
    const problem = answers.problem(context?.method ?? request.method, path, answer);
    if (problem !== null) problems.push(problem);
    jest
      .requireActual<{ lookThroughAnswer: typeof lookThroughAnswer }>('./check-secrets.js')
      .lookThroughAnswer(context?.method ?? request.method, path, answer.body);
  };

  const watched: Pick<typeof Handler, 'createAdminHandler' | 'createControlPlane'> = {
    createControlPlane(sender, options) {
      const plane = handler.createControlPlane(sender, options);
      return async (incoming, context) => {
        const answer = await plane(incoming, context);
        look(options.basePath ?? '', incoming().head, context, answer);
        return answer;
      };
    },
    createAdminHandler(sender, options) {
      const answerTo = handler.createAdminHandler(sender, options);
      return async (request, context) => {
        const response = await answerTo(request, context);
        look(options?.basePath ?? '', request, context, knownAnswer(response)!);
        return response;
      };
    },
  };
  return { ...handler, ...watched };
});

/** As the handler finds it; null when the path is not one of its own. */
function below(base: string, pathname: string): string | null {
  if (pathname === base) return '/';
  return pathname.startsWith(`${base}/`) ? pathname.slice(base.length) : null;
}

/** What was answered otherwise since it was last asked, which then fails no test. */
export function takeProblems(): string[] {
  return problems.splice(0);
}

function report(): void {
  const found = takeProblems();
  if (found.length > 0) throw new Error(`Not as the OpenAPI document says:\n${found.join('\n')}`);
}

afterEach(report);
afterAll(report);
