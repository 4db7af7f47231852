import { type AppEnv, describeRoute, validate } from '@trunkline/http';
import { ModelError } from '@trunkline/llm';
import type { Hono } from 'hono';
import { z } from 'zod';
import type { Answer } from '../api-types.ts';
import { researchErrors } from '../errors.ts';
import type { FollowUpDeps } from '../research/follow-up.ts';
import type { StoredAnswer } from '../store/answers.ts';
import { jobFinder } from './find-job.ts';

const questionSchema = z.object({ question: z.string().trim().min(2).max(2000) });
const PATH = '/api/research/deep/:id/questions';

/** Questions about a report, answered from its stored sources. */
export function mountQuestions(app: Hono<AppEnv>, deps: FollowUpDeps): void {
  const find = jobFinder(deps.jobs);
  const { research_not_found, research_running, model_failed } = researchErrors;

  app.get(PATH, describeRoute({ summary: 'The follow-up questions', errors: [research_not_found] }), (c) =>
    c.json({ answers: deps.answers.all(find(c.req.param('id')).id).map(toEntry) }),
  );

  app.post(
    PATH,
    describeRoute({
      summary: 'Answer a question from the stored sources alone',
      status: 201,
      errors: [research_not_found, research_running, model_failed],
    }),
    validate('json', questionSchema),
    async (c) => {
      const job = find(c.req.param('id'));
      if (!job.closed) throw research_running();
      const { question } = c.req.valid('json');
      const { answerFollowUp } = await import('../research/follow-up.ts');
      const answer = await answerFollowUp(deps, job, question, c.req.raw.signal).catch((error: unknown) => {
        if (error instanceof ModelError) throw model_failed({ words: error.message }, { cause: error });
        throw error;
      });
      return c.json(toEntry(answer), 201);
    },
  );
}

function toEntry({ askedAt, ...answer }: StoredAnswer): Answer {
  return { ...answer, askedAt: new Date(askedAt).toISOString() };
}
