import type { AgentDescription, ExecutionEvent, Executor } from '@trunkline/a2a';
import type { Principal } from '@trunkline/identity';
import { ModelError } from '@trunkline/llm';
import type { TurnEvent } from '@trunkline/loop';
import type { Database } from '@trunkline/storage';
import type { MiddlewareHandler } from 'hono';
import { PersonaUnavailableError } from '../errors.ts';
import manifest from '../package.json' with { type: 'json' };
import { SweptTable } from '../store/database.ts';
import { type ModelMessages, type Persona, runPersona } from './persona.ts';

const maxMessages = 60;

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
      const messages = [
        ...conversations.get(request.task.contextId),
        { role: 'user' as const, content: request.text },
      ];
      const sessionId = request.task.contextId;
      for await (const event of runPersona(answering, { messages, sessionId, signal })) {
        if (event.type === 'end') conversations.set(sessionId, event.messages);
        yield* reported(event);
      }
    },
  };
}

/** The caller learns why no persona can answer, not only the log. */
function personaOf(persona: () => Persona): Persona | Error {
  try {
    return persona();
  } catch (error) {
    if (error instanceof ModelError || error instanceof PersonaUnavailableError) return error;
    throw error;
  }
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

/** What was said before, by the context that a caller names. */
export class ConversationHistories {
  readonly #table: SweptTable<ModelMessages>;

  constructor(database: Database) {
    this.#table = new SweptTable<ModelMessages>(database, 'conversations');
  }

  get(contextId: string): ModelMessages {
    return this.#table.get(contextId) ?? [];
  }

  /** Keeps the newest messages, from one of the user's on, so that no result stands without its call. */
  set(contextId: string, messages: ModelMessages): void {
    const newest = messages.slice(-maxMessages);
    const start = newest.findIndex(({ role }) => role === 'user');
    this.#table.set(contextId, newest.slice(Math.max(start, 0)));
  }
}

/** What other agents read about this one. */
export function describeVoice(name: string, publicUrl: string): AgentDescription {
  return {
    name,
    description: 'A voice assistant: answers in short spoken sentences, with tools and delegates.',
    version: manifest.version,
    publicUrl,
    provider: { organization: 'Trunkline', url: publicUrl },
    inputModes: ['text/plain'],
    outputModes: ['text/markdown'],
    skills: [
      {
        id: 'chat',
        name: 'Chat',
        description: 'Answers a message as the persona that also speaks.',
        tags: ['chat', 'voice'],
        examples: ['What time is it in Tokyo?'],
      },
    ],
  };
}

const apiKey = { type: 'apiKey', in: 'header', name: 'X-API-Key' };

/** Names the API key on the older form of the card even where none is asked for, as its readers expect. */
export function advertiseApiKey(): MiddlewareHandler {
  return async (context, next) => {
    await next();
    if (context.res.status !== 200) return;
    const card = (await context.res.clone().json()) as { protocolVersion?: string; securitySchemes?: object };
    if (card.protocolVersion === undefined) return;
    const body = JSON.stringify({ ...card, securitySchemes: { apiKey, ...card.securitySchemes } });
    context.res = new Response(body, context.res);
  };
}
