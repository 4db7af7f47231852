import type { AppEnv } from '@trunkline/http';
import type { Principal } from '@trunkline/identity';
import type { ModelGateway } from '@trunkline/llm';
import type { Hono } from 'hono';
import { z } from 'zod';
import type { MayJoin } from '../../callers.ts';
import type { ChatStore } from '../../chats/chat-store.ts';
import type { Owners } from '../../owners.ts';
import type { SessionStore } from '../../turns/session-store.ts';
import { jsonRoutes } from '../json-routes.ts';
import { consoleErrors } from './errors.ts';

export interface ChatModelRoutes {
  gateway(): ModelGateway;
  /** `model.choices` of the configuration. */
  choices(): readonly string[];
  sessions: SessionStore;
  chats: ChatStore;
  owners: Owners;
  mayJoin: MayJoin;
  isOperator(principal: Principal): boolean;
}

/** The models of which somebody may choose one for a chat. */
export interface ChatModels {
  /** The configured one. */
  standard: string;
  /** Besides the configured one; `id` is chosen. Empty with the demo model. */
  models: { id: string; name: string; role?: 'helper' | 'judge' }[];
  /** Why the list of the endpoint could not be read. */
  problem: string | null;
}

const mostModels = 500;
const listTimeoutMs = 5000;

/** The model of a chat. The operator may choose any that the endpoint lists, others those that `model.choices` lists. */
export function mountChatModels(app: Hono<AppEnv>, routes: ChatModelRoutes): void {
  const { sessions, chats, owners, mayJoin, isOperator } = routes;
  const { get, put } = jsonRoutes(app);
  get('/api/chat/models', { summary: 'Models that a chat may use' }, ({ principal, signal }) =>
    offeredModels(routes, principal, signal),
  );
  const choose = {
    summary: 'Choose the model of a conversation; null for the configured one',
    param: z.object({ id: z.string().min(1).max(500) }),
    json: z.object({ model: z.string().min(1).max(200).nullable() }),
  };
  put(
    '/api/chat/sessions/:id/model',
    choose,
    async ({ param: { id }, json: { model }, principal, signal }) => {
      if (!mayJoin(id, principal)) throw consoleErrors.chat_of_others();
      const { models } = model === null ? { models: [] } : await offeredModels(routes, principal, signal);
      if (model !== null && !models.some((each) => each.id === model))
        throw consoleErrors.model_not_offered({ model });
      const root = chats.rootOf(id);
      if (model === null) sessions.chooseModel(root, undefined);
      else {
        owners.actor(principal).keep?.(Buffer.byteLength(root + model));
        sessions.claim(root, owners.conversation(principal));
        sessions.chooseModel(root, { model, byOperator: isOperator(principal) });
      }
      return { model };
    },
  );
}

async function offeredModels(
  { gateway, choices, isOperator }: ChatModelRoutes,
  principal: Principal,
  signal: AbortSignal,
): Promise<ChatModels> {
  const { name: standard, demo } = gateway().describe();
  if (demo) return { standard, models: [], problem: null };
  const listed = choices();
  const roles = (['helper', 'judge'] as const)
    .filter((role) => listed.includes(role) || isOperator(principal))
    .map((role) => ({ id: role, name: modelOf(gateway(), role), role }))
    .filter(({ name }) => name !== standard);
  const found = isOperator(principal) ? await listOf(gateway(), signal) : { names: [], problem: null };
  const names = new Set(
    [...listed, ...found.names].filter((name) => !['helper', 'judge', standard].includes(name)),
  );
  const named = [...names].slice(0, mostModels).map((name) => ({ id: name, name }));
  return { standard, models: [...roles, ...named], problem: found.problem };
}

function modelOf(gateway: ModelGateway, role: 'helper' | 'judge'): string {
  return (role === 'helper' ? gateway.fastModel() : gateway.judgeModel()).modelId;
}

/** Endpoints list models for embeddings too, which cannot talk. */
async function listOf(gateway: ModelGateway, signal: AbortSignal) {
  const { ok, message, models } = await gateway.check(
    AbortSignal.any([signal, AbortSignal.timeout(listTimeoutMs)]),
  );
  const names = models.filter((name) => !/embed/i.test(name));
  return { names, problem: ok || models.length > 0 ? null : message };
}
