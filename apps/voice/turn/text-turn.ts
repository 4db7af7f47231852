import {
  type A2aServer,
  type AgentDescription,
  createA2aServer,
  type ExecutionEvent,
  type Executor,
} from '@trunkline/a2a';
import { type AccountAccess, ownerKey, type Principal } from '@trunkline/identity';
import { ModelError } from '@trunkline/llm';
import { compactionNote, type TurnEvent } from '@trunkline/loop';
import type { ServiceAddress, ServiceContext } from '@trunkline/service';
import { type Database, storedBytes } from '@trunkline/storage';
import type { MiddlewareHandler } from 'hono';
import { PersonaUnavailableError } from '../errors.ts';
import type { Counters } from '../metrics/metrics.ts';
import type { VoiceOptions } from '../options.ts';
import manifest from '../package.json' with { type: 'json' };
import { type Directories, SweptTable } from '../store/database.ts';
import type { Admission } from '../users/admission.ts';
import type { UserDirectory } from '../users/directory.ts';
import { defaultUser, type User } from '../users/user.ts';
import { newestMessages } from './newest-messages.ts';
import { type ModelMessages, type Persona, type PersonaRequest, runPersona } from './persona.ts';

const maxMessages = 60;

interface AgentServerDeps {
  context: { options: VoiceOptions; service: ServiceContext; accounts: Pick<AccountAccess, 'current'> };
  address: ServiceAddress;
  users: UserDirectory;
  admission: Admission;
  counters: Counters;
  database: Database;
  directories: Directories;
  persona(user: User, principal: Principal, request: PersonaRequest): Persona;
}

/** Answers other agents as the user of A2A_USER_ID. */
export function createAgentServer(deps: AgentServerDeps): A2aServer {
  const { context, address, users, admission, counters, database, directories, persona } = deps;
  const { a2aAuthToken: token, a2aUserId: id, agentName, a2aAllowedOrigins } = context.options;
  const { pushAllowedHosts: allowedHosts, pushAllowedCidrs: allowedCidrs } = context.options;
  const answering = (sender: Principal, timezone: unknown) => {
    // A roster that cannot be read may have limited this user.
    if (users.closedBecause !== undefined) throw new PersonaUnavailableError(users.closedBecause);
    const user = users.find(id) ?? { ...defaultUser, id, displayName: id, role: 'user' as const };
    return persona(user, sender, { isWritten: true, timezone });
  };
  const conversations = new ConversationHistories(database);
  return createA2aServer({
    directory: directories.store,
    quotaBytes: context.options.quotaMb * 2 ** 20,
    keptBesides: (owner) => conversations.bytesOf(owner),
    current: (principal) => context.accounts.current(principal),
    executor: createTextTurn(answering, conversations),
    card: () => ({ ...describeVoice(agentName, address.publicUrl), grpcAddress: address.grpcAddress }),
    signingHome: context.options.trunklineHome,
    guardCard: token !== undefined,
    credentials: token === undefined ? {} : { bearer: token, apiKey: token, require: 'any' },
    closedBecause: admission.operatorOnlyBecause,
    allowedOrigins: a2aAllowedOrigins,
    push: { allowedHosts, allowedCidrs },
    observers: [
      {
        turnStarted: () => {
          counters.inboundMessages += 1;
        },
      },
    ],
    logger: context.service.logger,
  });
}

/** Answers written messages as the persona that also speaks. */
function createTextTurn(
  persona: (sender: Principal, timezone: unknown) => Persona,
  conversations: ConversationHistories,
): Executor {
  return {
    async *execute(request, signal) {
      const answering = personaOf(() => persona(request.principal, request.metadata.timezone));
      if (answering instanceof Error) return yield { type: 'failed', message: answering.message };
      const owner = ownerKey(request.principal);
      const messages = [
        ...conversations.get(request.task.contextId, owner),
        { role: 'user' as const, content: request.text },
      ];
      const sessionId = request.task.contextId;
      for await (const event of runPersona(answering, { messages, sessionId, signal })) {
        if (event.type === 'end') conversations.set(sessionId, owner, event.messages);
        yield* reported(event);
      }
    },
  };
}

/** Returns errors that the caller should read. */
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
    case 'reasoning-delta':
      return yield event;
    case 'tool-start':
      return yield { type: 'tool-start', toolCallId: event.toolCallId, name: event.name, args: event.input };
    case 'tool-end': {
      const { toolCallId, name, result, failed } = event;
      return yield { type: 'tool-end', toolCallId, name, result, failed };
    }
    case 'compaction':
      return yield { type: 'progress', text: compactionNote(event) };
    case 'wait':
      return yield { type: 'progress', text: event.message };
    case 'end': {
      const { costUsd: _price, knownCostUsd: _known, ...usage } = event.usage;
      yield { type: 'usage', usage };
      return yield { type: 'completed', text: event.text };
    }
    case 'error':
      return yield { type: 'failed', message: event.message };
    default:
      return;
  }
}

/** Conversations, by the caller's context id; those of different people never meet. */
class ConversationHistories {
  readonly #database: Database;
  readonly #table: SweptTable<ModelMessages>;

  constructor(database: Database) {
    this.#database = database;
    this.#table = new SweptTable<ModelMessages>(database, 'conversations');
  }

  /** What nobody owns is everybody's to go on with. */
  get(contextId: string, owner: string): ModelMessages {
    return this.#table.get(keyOf(contextId, owner)) ?? this.#table.get(keyOf(contextId, 'anonymous')) ?? [];
  }

  set(contextId: string, owner: string, messages: ModelMessages): void {
    this.#table.set(keyOf(contextId, owner), newestMessages(messages, maxMessages));
  }

  /** Bytes of the conversations that count on a quota. */
  bytesOf(quota: string): number {
    const owner = `CASE WHEN key LIKE '[%' AND json_valid(key) THEN coalesce(key ->> '$[0]', 'anonymous') ELSE 'anonymous' END`;
    const where = `${owner} BETWEEN ?1 AND ?2 AND expires_at > ${Date.now()}`;
    return storedBytes(this.#database, 'conversations', ['value'], where, quota);
  }
}

/** Callers choose context ids: one that looks like the key of somebody else's conversation must not open it. */
function keyOf(contextId: string, owner: string): string {
  const isPlain = owner === 'anonymous' && !contextId.startsWith('[');
  return isPlain ? contextId : JSON.stringify([owner, contextId]);
}

function describeVoice(name: string, publicUrl: string): AgentDescription {
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

/** Adds the API key to 0.3 cards even if none is required, as their readers expect. */
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
