import { defineErrors, describeRoute, validate } from '@trunkline/http';
import type { Hono } from 'hono';
import { z } from 'zod';
import type { Question } from '../api-types.ts';
import type { Peers } from '../cluster/peers.ts';
import { retryAfterSeconds, throwBusFailure } from '../errors.ts';
import type { SwitchboardEnv } from '../routes/guards.ts';
import { askLimitMs, type HumanInput } from './human-input.ts';
import { QuestionsFull } from './question-store.ts';

const errors = defineErrors({
  question_unknown: [404, 'There is no such question; GET /api/hitl/pending lists those that wait.'],
  approval_forbidden: [403, ({ where }: { where: string }) => `This is not yours to approve. ${where}`],
  approval_unclear: [400, 'This is a request for approval: answer with a plain yes or no.'],
  question_answered: [409, 'This question has been answered already.'],
  question_over: [410, 'The work that asked this has ended: nobody waits for an answer any more.'],
  questions_full: [429, ({ words }: { words: string }) => words],
  question_unsure: [
    503,
    'Your answer was not taken: the switchboard that asked this, or may have, does not answer now. Give it again in a moment.',
  ],
});

const askBody = z.object({
  correlationId: z.string().min(1).max(128),
  question: z.string().min(1).max(10_000),
});

const answerBody = z.object({ requestId: z.string(), answer: z.string().min(1).max(100_000) });

const keptWords =
  'The switchboard that asked this is gone. The answer is kept for a week, for whoever goes on with the work.';

export function mountHuman(
  app: Hono<SwitchboardEnv>,
  humanInput: HumanInput,
  peers: Peers,
  ownerOfRequest: (correlationId: string) => string | undefined,
): void {
  peers.offer('questions', (_, viewer) => humanInput.pending(viewer));
  const asking = describeRoute({
    summary: 'Asks a person and waits up to 110 s; ask the same again to go on waiting',
    errors: [errors.questions_full],
  });
  app.post('/api/agent/ask-human', asking, validate('json', askBody), async (context) => {
    const { correlationId, question } = context.req.valid('json');
    const owner = context.get('caller').guest ? undefined : ownerOfRequest(correlationId);
    const asker = { correlationId, principal: context.get('principal'), owner };
    const answer = await humanInput
      .ask(asker, question, askLimitMs, context.req.raw.signal)
      .catch((error: unknown) => {
        if (error instanceof QuestionsFull) throw errors.questions_full({ words: error.message });
        throw error;
      });
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
      errors.question_over,
      errors.question_unsure,
    ],
  });
  app.post('/api/a2a/input', answering, validate('json', answerBody), async (context) => {
    const { requestId, answer } = context.req.valid('json');
    const principal = context.get('principal');
    const outcome = await humanInput
      .answer(requestId, answer, principal, { asOwner: true })
      .catch(throwBusFailure);
    const isUnsure =
      outcome === 'unsure' ||
      (outcome === 'unknown' && (await peers.askForList('questions', {}, principal)).gap.incomplete);
    if (isUnsure) throw errors.question_unsure({ headers: { 'retry-after': String(retryAfterSeconds) } });
    if (outcome === 'unknown') throw errors.question_unknown();
    if (outcome === 'over') throw errors.question_over();
    if (outcome === 'not-allowed') throw errors.approval_forbidden({ where: humanInput.whereToApprove() });
    if (outcome === 'unclear') throw errors.approval_unclear();
    if (outcome === 'answered-already') throw errors.question_answered();
    return context.json({ success: true, ...(outcome === 'kept' && { kept: true, message: keptWords }) });
  });
  app.get(
    '/api/hitl/pending',
    describeRoute({ summary: 'Questions that wait, the oldest first' }),
    async (context) => {
      const principal = context.get('principal');
      // One that is heard first while the others answer was not asked.
      const alive = new Set(peers.list().map(({ node }) => node));
      const { lists, gap } = await peers.askForList<Question>('questions', {}, principal);
      const copies = humanInput
        .pendingElsewhere(principal)
        .filter(({ node }) => gap.incomplete || !alive.has(node))
        .map(({ question }) => question);
      const all = [copies, ...lists, humanInput.pending(principal)].flat();
      // A question that went on elsewhere is known to several.
      const once = [...new Map(all.map((question) => [question.requestId, question])).values()];
      const mayApprove = humanInput.mayApprove(principal);
      const data = once
        .toSorted((one, other) => one.askedAt - other.askedAt)
        .map((question) => (question.approval ? { ...question, mayApprove } : question));
      return context.json({ success: true, ...gap, data });
    },
  );
}
