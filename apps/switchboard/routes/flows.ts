import { randomUUID } from 'node:crypto';
import type { Bus, Message } from '@trunkline/bus';
import { defineErrors, describeRoute, validate } from '@trunkline/http';
import { handedOn, maySee } from '@trunkline/identity';
import type { Hono } from 'hono';
import { z } from 'zod';
import type { FlowOrigin } from '../api-types.ts';
import { throwBusFailure } from '../errors.ts';
import type { FlowStore } from '../flows/flow-store.ts';
import type { SurfaceSenders } from '../surfaces/senders.ts';
import type { SwitchboardEnv } from './guards.ts';

const errors = defineErrors({
  flow_unknown: [404, ({ id }: { id: string }) => `There is no flow ${id}; flows are kept for 7 days.`],
  request_gone: [
    410,
    ({ id }: { id: string }) =>
      `The request of flow ${id} is no longer in the journal of the bus; publish it anew on agent.skill.request.`,
  ],
});

/** Messages of a correlation searched for the request. */
const mostMessages = 1000;

const listQuery = z.object({
  since: z
    .union([z.coerce.number(), z.iso.datetime({ offset: true }).transform((text) => Date.parse(text))])
    .optional(),
  status: z.enum(['active', 'blocked', 'complete']).optional(),
  limit: z.coerce.number().int().min(1).max(1000).default(200),
  offset: z.coerce.number().int().min(0).default(0),
});

interface FlowParts {
  store: FlowStore;
  bus: Bus;
  senders: Pick<SurfaceSenders, 'currentSender'>;
}

export function mountFlows(app: Hono<SwitchboardEnv>, { store, bus, senders }: FlowParts): void {
  app.get(
    '/api/flows',
    describeRoute({ summary: 'Flows, the newest first' }),
    validate('query', listQuery),
    (context) => {
      const query = context.req.valid('query');
      const flows = store.list({ ...query, principal: context.get('principal') });
      const next = flows.length < query.limit ? null : query.offset + query.limit;
      return context.json({
        success: true,
        count: flows.length,
        flows,
        next,
        data: { count: flows.length, flows },
      });
    },
  );
  const one = describeRoute({ summary: 'A flow with its trace', errors: [errors.flow_unknown] });
  app.get('/api/flows/:id', one, (context) => {
    const id = context.req.param('id');
    const flow = store.get(id);
    const origin = store.originOf(id);
    if (flow === undefined || origin === undefined || !maySee(context.get('principal'), store.ownerOf(id)))
      throw errors.flow_unknown({ id });
    return context.json({ success: true, data: { ...flow, ...origin, trace: store.traceOf(id) } });
  });
  const { flow_unknown, request_gone } = errors;
  const again = describeRoute({
    summary: 'Asks once more what a flow asked, as a flow of its own',
    status: 202,
    errors: [flow_unknown, request_gone],
  });
  app.post('/api/flows/:id/replay', again, async (context) => {
    const id = context.req.param('id');
    const origin = store.originOf(id) ?? raise(flow_unknown({ id }));
    const request = (await requestOf(origin, bus)) ?? raise(request_gone({ id }));
    const { topic, payload, reply, source } = request;
    const correlationId = randomUUID();
    const draft = {
      topic,
      payload,
      reply,
      source,
      correlationId,
      parentId: origin.messageId,
      // The words are their sender's, whoever has them asked once more.
      principal: handedOn(senders.currentSender(request), 'replay'),
    };
    await bus.publish(draft).catch(throwBusFailure);
    return context.json({ success: true, data: { id: `skill-${correlationId}`, correlationId } }, 202);
  });
}

async function requestOf({ messageId, correlationId }: FlowOrigin, bus: Bus): Promise<Message | undefined> {
  const query = { topic: 'agent.skill.request', correlationId, limit: mostMessages };
  const entries = await bus.history(query).catch(throwBusFailure);
  return entries.find(({ message }) => message.id === messageId)?.message;
}

function raise(error: Error): never {
  throw error;
}
