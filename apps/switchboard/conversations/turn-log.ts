import type { Bus, Message, Subscription } from '@trunkline/bus';
import { fieldsOf, text } from '../dispatch/request.ts';
import type { ConversationStore } from './conversation-store.ts';

const mostTurns = 200;

/** Answers `logger.turn.query {conversationId?, agent?, limit?}` at the reply topic of the message. */
export function startTurnLog(bus: Bus, store: ConversationStore): Promise<Subscription> {
  const handle = async ({ payload, reply, correlationId, id: parentId }: Message) => {
    if (reply === undefined) throw new Error('logger.turn.query needs a reply topic for its answer.');
    const { conversationId, agent, limit } = fieldsOf(payload);
    const turns = store.turns({
      conversationId: text(conversationId),
      agent: text(agent),
      limit: Math.min(typeof limit === 'number' && limit >= 1 ? Math.floor(limit) : 50, mostTurns),
    });
    await bus.publish({ topic: reply.topic, payload: { turns }, correlationId, parentId });
  };
  return bus.subscribe('logger.turn.query', handle, { group: 'turn-log', plugin: 'turn-log' });
}
