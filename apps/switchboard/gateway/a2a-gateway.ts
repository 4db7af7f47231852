import type { ExecutionEvent, ExecutionRequest, Executor } from '@trunkline/a2a';
import type { Bus } from '@trunkline/bus';
import { text } from '../dispatch/request.ts';
import type { HumanDesk } from '../human/human-desk.ts';
import type { Surroundings } from '../router/decide.ts';
import { type Answer, askSkill, listen } from './ask-skill.ts';
import { targetOf } from './target.ts';

export interface GatewayParts {
  bus: Bus;
  desk: HumanDesk;
  routing: Surroundings;
}

/** The switchboard as one A2A agent: each task is a request for a skill, untargeted ones for the helm's. */
export function createGatewayExecutor(parts: GatewayParts): Executor {
  return {
    async *execute(request, signal) {
      const answers = answersFor(request, signal, parts);
      if ('error' in answers) {
        yield { type: 'rejected', message: answers.error };
        return;
      }
      for await (const answer of answers) yield* eventsOf(answer);
    },
  };
}

function answersFor(
  { task, text: content, metadata, resume }: ExecutionRequest,
  signal: AbortSignal,
  { bus, desk, routing }: GatewayParts,
): AsyncGenerator<Answer, void> | { error: string } {
  const waiting = desk.pending().find(({ correlationId }) => correlationId === task.id);
  if (resume !== undefined && waiting !== undefined) {
    const begin = () => desk.answer(waiting.requestId, content);
    return listen(bus, { correlationId: task.id, signal, begin });
  }
  const target = targetOf(text(metadata.agent), text(metadata.skillHint), routing);
  if ('error' in target) return target;
  // A task whose remote agent asked back goes on as a request of its own.
  const correlationId = resume === undefined ? task.id : `${task.id}-${crypto.randomUUID()}`;
  const conversationId = `a2a:${task.contextId}`;
  const source = { interface: 'a2a' };
  return askSkill(bus, target, { content, correlationId, conversationId, source, signal });
}

function* eventsOf(answer: Answer): Generator<ExecutionEvent> {
  if (answer.type === 'question') yield { type: 'input-required', question: answer.question.question };
  else if (answer.type === 'frame') yield* frameEvents(answer.frame);
  else yield* resultEvents(answer.result);
}

function* frameEvents(frame: Extract<Answer, { type: 'frame' }>['frame']): Generator<ExecutionEvent> {
  if (frame.type === 'progress') yield { type: 'progress', text: frame.text };
  if (frame.type === 'tool-start') {
    yield { type: 'tool-start', toolCallId: frame.toolCallId, name: frame.name, args: frame.input };
  }
  if (frame.type === 'tool-end') {
    const { toolCallId, name, result, failed } = frame;
    yield { type: 'tool-end', toolCallId, name, result, failed };
  }
}

function* resultEvents(result: Extract<Answer, { type: 'result' }>['result']): Generator<ExecutionEvent> {
  if (result.usage) yield { type: 'usage', usage: result.usage };
  if (result.taskState === 'input-required') yield { type: 'input-required', question: result.content };
  else if (result.taskState === 'rejected') yield { type: 'rejected', message: result.error ?? '' };
  else if (result.error !== undefined) yield { type: 'failed', message: result.error };
  else yield { type: 'completed', text: result.content };
}
