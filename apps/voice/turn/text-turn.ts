import type { ExecutionEvent, ExecutionRequest, Executor } from '@trunkline/a2a';
import type { Principal } from '@trunkline/identity';
import { ModelError } from '@trunkline/llm';
import type { TurnEvent } from '@trunkline/loop';
import { PersonaUnavailableError } from '../errors.ts';
import type { ConversationHistories } from './conversations.ts';
import type { Persona } from './persona.ts';
import { runPersona } from './run-persona.ts';

export interface TextTurnOptions {
  /** As whom a message that somebody sent is answered now. */
  persona: (sender: Principal) => Persona;
  conversations: ConversationHistories;
}

/** Answers written messages as the persona that also speaks. */
export function createTextTurn({ persona, conversations }: TextTurnOptions): Executor {
  return {
    async *execute(request, signal) {
      const answering = personaOf(() => persona(request.principal));
      if (answering instanceof Error) return yield { type: 'failed', message: answering.message };
      const messages = [...conversations.get(request.task.contextId), userMessage(request)];
      const sessionId = request.task.contextId;
      for await (const event of runPersona(answering, { messages, sessionId, signal })) {
        if (event.type === 'end') conversations.set(sessionId, event.messages);
        yield* reported(event);
      }
    },
  };
}

/** Why no persona can answer is told to the caller, not only to the log. */
function personaOf(persona: () => Persona): Persona | Error {
  try {
    return persona();
  } catch (error) {
    if (error instanceof ModelError || error instanceof PersonaUnavailableError) return error;
    throw error;
  }
}

function userMessage({ text }: ExecutionRequest) {
  return { role: 'user' as const, content: text };
}

function* reported(event: TurnEvent): Generator<ExecutionEvent> {
  switch (event.type) {
    case 'text-delta':
      return yield event;
    case 'tool-start':
      return yield { type: 'tool-start', toolCallId: event.toolCallId, name: event.name, args: event.input };
    case 'tool-end': {
      const { toolCallId, name, result, failed } = event;
      return yield { type: 'tool-end', toolCallId, name, result, failed };
    }
    case 'end': {
      const { inputTokens, outputTokens, totalTokens } = event.usage;
      yield { type: 'usage', usage: { inputTokens, outputTokens, totalTokens } };
      return yield { type: 'completed', text: event.text };
    }
    case 'error':
      return yield { type: 'failed', message: event.message };
    default:
      return;
  }
}
