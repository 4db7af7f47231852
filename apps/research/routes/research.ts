import { type AppEnv, describeRoute, type SseSource, sse, validate } from '@trunkline/http';
import { ModelError } from '@trunkline/llm';
import type { Hono } from 'hono';
import { z } from 'zod';
import { type Answer, CITATION_MODES, type Evidence, SOURCE_KINDS } from '../api-types.ts';
import { researchErrors } from '../errors.ts';
import { followEvents } from '../research/engine.ts';
import type { FollowUpDeps } from '../research/follow-up.ts';
import {
  type DomainLists,
  type Job,
  LONGEST_NAME,
  type PlannedDimension,
  withinOperatorLists,
} from '../research/job.ts';
import { type SnapshotDeps, snapshotOf } from '../research/snapshot.ts';
import type { DocumentStore } from '../store/documents.ts';
import type { FindingStore, StoredAnswer } from '../store/findings.ts';
import type { JobStore } from '../store/jobs.ts';
import { jobFinder, listSchema } from './guards.ts';

const questionSchema = z.object({ question: z.string().trim().min(2).max(2000) });

const PATH = '/api/research/deep/:id/questions';

export interface ResearchRouteDeps extends SnapshotDeps {
  jobs: JobStore;
  /** The operator's own lists, which hold for every job. */
  domains: DomainLists;
}

const positive = z.number().positive().optional();
const domains = z.array(z.string().trim().min(1).max(253)).max(500).default([]);

const budget = z.object({ seconds: positive, tokens: positive, sources: z.int().positive().optional() });

const startSchema = z.object({
  query: z.string().trim().min(2).max(2000),
  sessionId: z.string().max(200).optional(),
  plan: z.literal('review').optional(),
  budget: budget.optional(),
  domains: z.object({ allow: domains, deny: domains }).optional(),
  sources: z.array(z.enum(SOURCE_KINDS)).min(1).optional(),
  citations: z
    .enum(CITATION_MODES)
    .default('marked')
    .describe('What becomes of statements that no source bears out: shown with a mark, or left out'),
});

const planSchema = z.object({
  dimensions: z
    .array(
      z.union([
        z.string().trim().min(1).max(LONGEST_NAME),
        z.object({
          name: z.string().trim().min(1).max(LONGEST_NAME),
          queries: z.array(z.string().trim().min(1).max(LONGEST_NAME)).min(1).max(3),
        }),
      ]),
    )
    .min(1)
    .max(6),
});

/** The body of a request that may have none. */
const resumeSchema = z.object({ budget: budget.optional() }).default({});

const ID = '/api/research/deep/:id';

/** Research jobs: start, follow, look at, edit the plan of, cancel. */
export function mountResearch(app: Hono<AppEnv>, deps: ResearchRouteDeps): void {
  const { engine, jobs, findings } = deps;
  const find = jobFinder(jobs);
  const errors = [researchErrors.research_not_found];
  const full = [researchErrors.too_many_jobs, researchErrors.too_many_own_jobs];

  app.post(
    '/api/research/deep',
    describeRoute({ summary: 'Start a research job', errors: full }),
    validate('json', startSchema),
    (c) => {
      engine.requireRoom(c.get('principal'));
      const researchId = engine.start({
        ...toStart(c.req.valid('json'), deps),
        principal: c.get('principal'),
      });
      return c.json({ researchId, status: 'started' });
    },
  );

  app.get(
    '/api/research',
    describeRoute({ summary: 'The newest research jobs; `q` finds words in query and report' }),
    validate('query', listSchema),
    (c) => {
      const { q, limit } = c.req.valid('query');
      return c.json({
        jobs: jobs
          .find(q, limit, c.get('principal'))
          .map((job) => ({ ...snapshotOf(job, deps), report: undefined })),
      });
    },
  );

  app.get(
    ID,
    describeRoute({ summary: 'Follow a job as server-sent events', mediaType: 'text/event-stream', errors }),
    (c) => {
      const { id } = find(c);
      return sse(c, { events: (source: SseSource) => followEvents(jobs, id, source) });
    },
  );

  app.get(`${ID}/status`, describeRoute({ summary: 'How far a job is', errors }), (c) =>
    c.json(snapshotOf(find(c), deps)),
  );

  app.get(
    `${ID}/evidence`,
    describeRoute({
      summary: 'The sources of a job, and each claim of its report with the passage it was checked against',
      errors,
    }),
    (c) => {
      const { id } = find(c);
      const evidence: Evidence = { sources: findings.sources(id), claims: findings.claims(id) };
      return c.json(evidence);
    },
  );

  app.post(
    `${ID}/plan`,
    describeRoute({
      summary: 'Approve or replace the dimensions of a job that waits for its plan',
      errors: [...errors, researchErrors.plan_not_awaited],
    }),
    validate('json', planSchema),
    (c) => {
      const job = find(c);
      if (!job.awaitingPlan || job.status !== 'running') throw researchErrors.plan_not_awaited();
      engine.submitPlan(job, plannedDimensions(c.req.valid('json').dimensions, job, findings));
      return c.json(snapshotOf(find(c), deps));
    },
  );

  app.post(
    `${ID}/resume`,
    describeRoute({
      summary: 'Go on with a job that failed or was cancelled, where it stopped',
      errors: [...errors, researchErrors.research_running, ...full],
    }),
    validate('json', resumeSchema),
    (c) => {
      const job = find(c);
      if (job.status === 'running' || job.status === 'complete' || !job.closed)
        throw researchErrors.research_running();
      engine.requireRoom(job.principal);
      engine.takeUp(job, c.req.valid('json').budget);
      return c.json(snapshotOf(find(c), deps));
    },
  );

  app.post(
    `${ID}/rerun`,
    describeRoute({
      summary: 'Start the same research again',
      errors: [...errors, ...full],
    }),
    (c) => {
      const { query, sessionId, options } = find(c);
      engine.requireRoom(c.get('principal'));
      const researchId = engine.start({
        query,
        sessionId: sessionId ?? undefined,
        options: { ...options, domains: withinOperatorLists(options.domains, deps.domains) },
        principal: c.get('principal'),
      });
      return c.json({ researchId, status: 'started' });
    },
  );

  app.delete(ID, describeRoute({ summary: 'Cancel a job', status: 204, errors }), (c) => {
    engine.cancel(find(c));
    return c.body(null, 204);
  });
}

/** Deletes jobs that are over. */
export function mountDeletion(
  app: Hono<AppEnv>,
  { jobs, documents }: Pick<ResearchRouteDeps, 'jobs'> & { documents: DocumentStore },
): void {
  const find = jobFinder(jobs);
  app.delete(
    '/api/research/:id',
    describeRoute({
      summary:
        'Delete a job that is over, with its report, its link and the pages that were read for it alone',
      status: 204,
      errors: [researchErrors.research_not_found, researchErrors.research_running],
    }),
    (c) => {
      const job = find(c);
      if (!job.closed) throw researchErrors.research_running();
      for (const page of jobs.remove(job)) documents.remove(page);
      return c.body(null, 204);
    },
  );
}

/** A dimension that is only named keeps the searches that were planned for it, or gets some of its own. */
function plannedDimensions(
  given: z.output<typeof planSchema>['dimensions'],
  { id, query }: Job,
  findings: FindingStore,
): PlannedDimension[] {
  const proposed = findings.dimensions(id);
  return given.map((dimension) => {
    if (typeof dimension !== 'string') return dimension;
    const known = proposed.find(({ name }) => name === dimension);
    return {
      name: dimension,
      queries: known?.queries ?? [dimension, `${query} ${dimension}`.slice(0, LONGEST_NAME)],
    };
  });
}

function toStart(body: z.output<typeof startSchema>, { domains: own }: ResearchRouteDeps) {
  const { query, sessionId, plan, budget = {}, domains: asked, sources = SOURCE_KINDS, citations } = body;
  return {
    query,
    sessionId,
    options: {
      reviewPlan: plan === 'review',
      budget,
      domains: withinOperatorLists(asked ?? { allow: [], deny: [] }, own),
      sources,
      citations,
    },
  };
}

/** Questions about a report, answered from its stored sources. */
export function mountQuestions(app: Hono<AppEnv>, deps: FollowUpDeps): void {
  const find = jobFinder(deps.jobs);
  const { research_not_found, research_running, model_failed, budget_spent } = researchErrors;

  app.get(PATH, describeRoute({ summary: 'The follow-up questions', errors: [research_not_found] }), (c) =>
    c.json({ answers: deps.answers.all(find(c).id).map(toEntry) }),
  );

  app.post(
    PATH,
    describeRoute({
      summary: 'Answer a question from the stored sources alone',
      status: 201,
      errors: [research_not_found, research_running, model_failed, budget_spent],
    }),
    validate('json', questionSchema),
    async (c) => {
      const job = find(c);
      if (!job.closed) throw research_running();
      const { question } = c.req.valid('json');
      const { answerFollowUp } = await import('../research/follow-up.ts');
      const answer = await answerFollowUp(deps, job, question, {
        signal: c.req.raw.signal,
        principal: c.get('principal'),
      }).catch((error: unknown) => {
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
