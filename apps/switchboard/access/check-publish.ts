import type { Draft } from '@trunkline/bus';
import { switchboardErrors } from '../errors.ts';
import { checkAsked, ownConversation } from './asked.ts';
import { type Caller, mayPublish } from './caller.ts';
import { type ScheduleOwners, scheduleCommand } from './schedule-command.ts';
import { isGuardedTopic, isOperatorTopic, isOwnTopic } from './topics.ts';

/**
 * Throws unless the caller may send this message: its address for answers, and what it asks for, included.
 * Gives the message as it goes on the bus: a scoped key commands the schedules that it owns and talks in conversations of its own.
 */
export function checkPublish(caller: Caller, draft: Draft, owners: ScheduleOwners): Draft {
  const { topic, reply } = draft;
  if (isOwnTopic(topic)) throw switchboardErrors.reply_topic({ topic });
  checkReplyTopic(reply?.topic);
  if (caller.admin) return draft;
  if (caller.guest && isOperatorTopic(topic)) throw switchboardErrors.operator_topic({ topic });
  const wanted = reply === undefined ? [topic] : [topic, reply.topic];
  const refused = wanted.find((name) => !mayPublish(caller, name));
  if (refused !== undefined) throw switchboardErrors.publish_forbidden({ topic: refused });
  if (topic === 'command.schedule')
    return { ...draft, payload: scheduleCommand(caller, draft.payload, owners) };
  if (!caller.guest) checkAsked(caller, draft);
  return { ...draft, payload: ownConversation(caller, draft.payload) };
}

/** The answer of an agent is the text of a model: it gives no orders and passes for nobody else's words. */
function checkReplyTopic(topic: string | undefined): void {
  if (topic !== undefined && isGuardedTopic(topic)) throw switchboardErrors.answer_forbidden({ topic });
}
