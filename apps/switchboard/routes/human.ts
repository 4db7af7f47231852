import { defineErrors, describeRoute, validate } from '@trunkline/http';
import type { Hono } from 'hono';
import { z } from 'zod';
import { askLimitMs } from '../human/ask-human.ts';
import type { HumanInput } from '../human/human-input.ts';
import type { SwitchboardEnv } from './guards.ts';

const errors = defineErrors({
  question_unknown: [404, 'There is no such question; GET /api/hitl/pending lists those that wait.'],
  approval_forbidden: [403, ({ where }: { where: string }) => `This is not yours to approve. ${where}`],
  approval_unclear: [400, 'This is a request for approval: answer with a plain yes or no.'],
  question_answered: [409, 'This question has been answered already.'],
});

const askBody = z.object({
  correlationId: z.string().min(1).max(128),
  question: z.string().min(1).max(10_000),
});
const answerBody = z.object({ requestId: z.string(), answer: z.string().min(1).max(100_000) });

/** Questions to people: asking, answering, and what waits. */
export function mountHuman(app: Hono<SwitchboardEnv>, humanInput: HumanInput): void {
  const ask = describeRoute({
    summary: 'Asks a person and waits up to 110 s; ask the same again to go on waiting',
  });
  app.post('/api/agent/ask-human', ask, validate('json', askBody), async (context) => {
    const { correlationId, question } = context.req.valid('json');
    const answer = await humanInput.ask(correlationId, question, askLimitMs, context.req.raw.signal);
    return context.json(
      answer === undefined ? { success: true, timedOut: true, answer: null } : { success: true, answer },
    );
  });
  const answering = describeRoute({
    summary: 'Answers a question',
    errors: [
      errors.question_unknown,
      errors.question_answered,
      errors.approval_forbidden,
      errors.approval_unclear,
    ],
  });
  app.post('/api/a2a/input', answering, validate('json', answerBody), async (context) => {
    const { requestId, answer } = context.req.valid('json');
    const outcome = await humanInput.answer(requestId, answer, context.get('principal'));
    if (outcome === 'unknown') throw errors.question_unknown();
    if (outcome === 'not-allowed') throw errors.approval_forbidden({ where: humanInput.whereToApprove() });
    if (outcome === 'unclear') throw errors.approval_unclear();
    if (outcome === 'answered-already') throw errors.question_answered();
    return context.json({ success: true });
  });
  app.get(
    '/api/hitl/pending',
    describeRoute({ summary: 'Questions that wait, the oldest first' }),
    (context) => context.json({ success: true, data: humanInput.pending() }),
  );
}
