import { randomUUID } from 'node:crypto';
import type { Bus, Message } from '@trunkline/bus';
import { defineErrors, describeRoute, validate } from '@trunkline/http';
import { handedOn, maySee, type Principal } from '@trunkline/identity';
import type { StepLog } from '@trunkline/loop';
import type { Hono } from 'hono';
import { z } from 'zod';
import { retriedSteps, stepsGone } from '../agents/step-store.ts';
import type { Flow, FlowDetails, FlowOrigin } from '../api-types.ts';
import type { Peers } from '../cluster/peers.ts';
import { fieldsOf, retriesOf } from '../dispatch/request.ts';
import { retryAfterSeconds, throwBusFailure } from '../errors.ts';
import type { FlowStore } from '../flows/flow-store.ts';
import { knownTrace } from '../flows/known-trace.ts';
import type { SurfaceSenders } from '../surfaces/senders.ts';
import type { SwitchboardEnv } from './guards.ts';

const errors = defineErrors({
  flow_unknown: [404, ({ id }: { id: string }) => `There is no flow ${id}; flows are kept for 7 days.`],
  flow_unsure: [
    503,
    ({ id }: { id: string }) =>
      `There is no flow ${id} here, and another switchboard, which may have it, does not answer: try again.`,
  ],
  flows_too_old: [
    400,
    ({ most }: { most: number }) =>
      `Over several switchboards the newest ${most} flows are listed: use a smaller offset, or choose by status or since.`,
  ],
  flow_open: [
    409,
    ({ id }: { id: string }) => `Flow ${id} has not ended: wait for its end, then retry it from a step.`,
  ],
  steps_gone: [409, stepsGone],
  request_gone: [
    410,
    ({ id }: { id: string }) =>
      `The request of flow ${id} is no longer in the journal of the bus; publish it anew on agent.skill.request.`,
  ],
});

/** Messages of a correlation searched for the request. */
const mostMessages = 1000;

const retryBody = z.object({
  /** The call of a tool, as the trace of the flow names it. */
  toolCallId: z.string().min(1),
});

const listQuery = z.object({
  since: z
    .union([z.coerce.number(), z.iso.datetime({ offset: true }).transform((text) => Date.parse(text))])
    .optional(),
  status: z.enum(['active', 'blocked', 'complete']).optional(),
  limit: z.coerce.number().int().min(1).max(1000).default(200),
  offset: z.coerce.number().int().min(0).default(0),
});

/** Rows that another switchboard sends at most; one message carries them. */
const mostRows = 1000;

interface FlowParts {
  store: FlowStore;
  /** Copies of the flows of other switchboards; they may be gone. */
  elsewhere: FlowStore | undefined;
  peers: Peers;
  bus: Bus;
  senders: Pick<SurfaceSenders, 'currentSender'>;
  /** Steps of agents' turns. */
  steps: StepLog;
}

export function mountFlows(app: Hono<SwitchboardEnv>, parts: FlowParts): void {
  const { store, elsewhere, peers, bus, senders, steps } = parts;
  const seenBy = (id: string, viewer: Principal, from = store) => {
    const known = from.shared(id);
    if (known === undefined || !maySee(viewer, known.owner)) return undefined;
    const { flow, owner: _, ...rest } = known;
    return { ...flow, ...rest };
  };
  /** Open work is shared without its trace. */
  const copyOf = async (id: string, viewer: Principal) => {
    const copy = elsewhere && seenBy(id, viewer, elsewhere);
    const shared = elsewhere?.shared(id);
    if (copy === undefined || shared === undefined || copy.status === 'complete') return copy;
    return { ...copy, trace: await knownTrace(shared, steps) };
  };
  peers.offer('flows', (query, viewer) => {
    const { since, status, limit } = listQuery.parse(query);
    return store.list({ since, status, limit, principal: viewer });
  });
  peers.offer('flow', ({ id }, viewer) => seenBy(String(id), viewer));
  app.get(
    '/api/flows',
    describeRoute({ summary: 'Flows, the newest first', errors: [errors.flows_too_old] }),
    validate('query', listQuery),
    async (context) => {
      const query = context.req.valid('query');
      const { limit, offset } = query;
      const principal = context.get('principal');
      const copies = elsewhere?.list({ limit: 1, principal }) ?? [];
      const isAlone = peers.list().length === 1 && copies.length === 0;
      if (!isAlone && offset >= mostRows) throw errors.flows_too_old({ most: mostRows });
      const end = isAlone ? offset + limit : Math.min(mostRows, offset + limit);
      const wanted = { ...query, offset: 0, limit: end };
      const { lists, gap } = await peers.askForList<Flow>('flows', wanted, principal);
      const found = store.list({ ...(isAlone ? query : wanted), principal });
      const copied = elsewhere?.list({ ...wanted, principal }) ?? [];
      const flows = isAlone ? found : newestOf([copied, found, ...lists]).slice(offset, end);
      const isLast = flows.length < limit || (!isAlone && end === mostRows);
      const next = isLast ? null : offset + limit;
      return context.json({
        success: true,
        count: flows.length,
        flows,
        next,
        ...gap,
        data: { count: flows.length, flows },
      });
    },
  );
  const { flow_unknown, flow_unsure, request_gone, flow_open, steps_gone } = errors;
  /** The copy that changed last, here or elsewhere. */
  const find = async (id: string, viewer: Principal): Promise<FlowDetails> => {
    const { answers, gap } = await peers.askWithGap<FlowDetails>('flow', { id }, viewer);
    const own = seenBy(id, viewer);
    const copy = answers.length === 0 ? await copyOf(id, viewer) : undefined;
    const [flow] = newestOf([[copy, own].filter((known) => known !== undefined), answers]);
    if (flow !== undefined) return flow;
    if (gap.incomplete) throw flow_unsure({ id }, { headers: { 'retry-after': String(retryAfterSeconds) } });
    throw flow_unknown({ id });
  };
  const one = describeRoute({ summary: 'A flow with its trace', errors: [flow_unknown, flow_unsure] });
  app.get('/api/flows/:id', one, async (context) => {
    const flow = await find(context.req.param('id'), context.get('principal'));
    return context.json({ success: true, data: flow });
  });
  const again = describeRoute({
    summary: 'Asks once more what a flow asked, as a flow of its own',
    status: 202,
    errors: [flow_unknown, flow_unsure, request_gone],
  });
  app.post('/api/flows/:id/replay', again, async (context) => {
    const id = context.req.param('id');
    const origin = store.originOf(id) ?? (await find(id, context.get('principal')));
    const request = (await requestOf(origin, bus)) ?? raise(request_gone({ id }));
    return context.json(await askAgain(request), 202);
  });
  const retry = describeRoute({
    summary:
      'Does the work of a flow again from a step on, as a flow of its own; finished steps before it are kept',
    status: 202,
    errors: [flow_unknown, flow_unsure, flow_open, steps_gone, request_gone],
  });
  app.post('/api/flows/:id/retry', retry, validate('json', retryBody), async (context) => {
    const id = context.req.param('id');
    const viewer = context.get('principal');
    const { toolCallId } = context.req.valid('json');
    const flow = seenBy(id, viewer) ?? (await find(id, viewer));
    const { targetAgent: agent, status, messageId: requestId } = flow;
    if (status !== 'complete') throw flow_open({ id });
    const request = (await requestOf(flow, bus)) ?? raise(request_gone({ id }));
    const retries = [...retriesOf(fieldsOf(request.payload)), { requestId, toolCallId }];
    const principal = senders.currentSender(request);
    const isStored = agent !== null && (await retriedSteps(steps, retries, { agent, principal }));
    if (!isStored) throw steps_gone();
    context.set('change', `retried flow ${id} from ${toolCallId}`);
    return context.json(await askAgain(request, { agent, retries }), 202);
  });

  async function askAgain(request: Message, more: object = {}) {
    const { topic, reply, source } = request;
    const { retries: _, ...payload } = fieldsOf(request.payload);
    const correlationId = randomUUID();
    const draft = {
      topic,
      payload: { ...payload, ...more },
      reply,
      source,
      correlationId,
      parentId: request.id,
      // The words are their sender's, whoever has them asked once more.
      principal: handedOn(senders.currentSender(request), 'replay'),
    };
    await bus.publish(draft).catch(throwBusFailure);
    return { success: true, data: { id: `skill-${correlationId}`, correlationId } };
  }
}

/** Of a flow that another switchboard took over, the copy that changed last; the newest flows first. */
function newestOf<Listed extends Flow>(lists: readonly (readonly Listed[])[]): Listed[] {
  const latest = new Map<string, Listed>();
  for (const flow of lists.flat())
    if (flow.updatedAt >= (latest.get(flow.id)?.updatedAt ?? 0)) latest.set(flow.id, flow);
  return [...latest.values()].toSorted((one, other) => other.createdAt - one.createdAt);
}

async function requestOf({ messageId, correlationId }: FlowOrigin, bus: Bus): Promise<Message | undefined> {
  const query = { topic: 'agent.skill.request', correlationId, limit: mostMessages };
  const entries = await bus.history(query).catch(throwBusFailure);
  return entries.find(({ message }) => message.id === messageId)?.message;
}

function raise(error: Error): never {
  throw error;
}
