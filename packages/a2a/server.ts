import { join } from 'node:path';
import { type App, type AppEnv, createOriginCheck, describeRoute } from '@trunkline/http';
import type { Principal } from '@trunkline/identity';
import { type Clock, systemClock } from '@trunkline/schedule';
import { lazy } from '@trunkline/std';
import { holdDirectory } from '@trunkline/storage';
import { Hono } from 'hono';
import { z } from 'zod';
import {
  type AgentDescription,
  buildCard,
  type CardForm,
  defaultInputModes,
  defaultOutputModes,
  extensionsOf,
  mountCard,
} from './card/agent-card.ts';
import { createCardSigner } from './card/card-signing.ts';
import { type EngineOptions, TaskEngine } from './engine/engine.ts';
import type { Executor, TaskObserver } from './engine/executor.ts';
import {
  type A2aCredentials,
  type CredentialsGuard,
  createCredentialsGuard,
} from './http/credentials-guard.ts';
import { Operations } from './operations.ts';
import type { Logger } from './protocol/model.ts';
import { createPushGuard, type PushGuardOptions } from './push/delivery.ts';
import { PushService } from './push/push-service.ts';
import type { SharedWebhook } from './push/push-store.ts';
import { mountRest } from './rest/rest-routes.ts';
import { rpcRoute } from './rpc/rpc-route.ts';

const rpcBody = z.object({
  jsonrpc: z.literal('2.0'),
  id: z.union([z.string(), z.number()]).optional(),
  method: z.string(),
  params: z.looseObject({}).optional(),
});

export interface A2aServerOptions {
  /** Where `a2a-tasks.db` and `a2a-push.db` stand: one directory for each instance. */
  directory: string;
  executor: Executor;
  /** Asked before a message is accepted: a refusal is answered with 503 and Retry-After. */
  admit?: EngineOptions['admit'];
  /** Who may do what with the tasks of others. */
  access?: EngineOptions['access'];
  /** Asked each time, as the address and the skills may become known late. */
  card: () => AgentDescription;
  /** What somebody who is known reads in the extended card beside or instead of that; left out, there is none. */
  extendedCard?: (principal: Principal) => Partial<AgentDescription>;
  /** Agents that callers can choose by `tenant`, whose tasks are kept apart; asked each time. */
  tenants?: () => readonly string[];
  /** TRUNKLINE_HOME, whose key signs the card; left out, it is not signed. */
  signingHome?: string;
  /** The card needs credentials too; default false. */
  guardCard?: boolean;
  credentials?: A2aCredentials;
  /** Origins that may read streams; empty lets all in. A2A_ALLOWED_ORIGINS. */
  allowedOrigins?: readonly string[];
  /** False: push notifications are not supported. */
  push?: PushGuardOptions | false;
  /** What a restart does to tasks that wait for an answer; default `keep`. */
  parkedTasks?: 'keep' | 'fail';
  /** Bytes that the tasks of one owner may take; default 0: no limit. QUOTA_MB. */
  quotaBytes?: number;
  /** Bytes that an owner keeps in this service beside tasks; they count with them. */
  keptBesides?: EngineOptions['keptBesides'];
  /** Ends turns within 15 seconds when whoever asked is disabled, removed or gets a lower role. */
  current?: EngineOptions['current'];
  /** Where several services share their tasks: tells the others how one stands. */
  share?: EngineOptions['share'];
  /** The same for their webhooks; false when the others may not know it, so that it is shared again later. */
  shareWebhook?: ((change: SharedWebhook) => Promise<boolean>) | undefined;
  /** More turns than this at once are refused; default 1000. */
  maximumRunning?: number;
  /** Why callers that nobody knows are refused although no credentials are set, if so. */
  closedBecause?: () => string | undefined;
  /** False for a service that warns of open doors itself; default true. */
  warnWhenOpen?: boolean;
  /** Told of turns from the first on, also of those that a restart ends. */
  observers?: readonly TaskObserver[];
  clock?: Clock;
  logger: Logger;
}

export interface A2aServer {
  /** Adds the routes at the root of an app. */
  mount<Caller>(app: App<Caller>): void;
  engine: TaskEngine;
  /** Undefined when push notifications are off. */
  push: PushService | undefined;
  /** Takes over a webhook that another service with the same tasks was given. */
  takeWebhook(change: SharedWebhook): void;
  stop(): void;
}

/** An agent that others reach over A2A, in versions 0.3 and 1.0, by JSON-RPC and REST. Its directory is its own while it runs. */
export function createA2aServer(options: A2aServerOptions): A2aServer {
  const held = holdDirectory(options.directory);
  try {
    const server = openServer(options);
    const stop = () => {
      server.stop();
      held.release();
    };
    return { ...server, stop };
  } catch (error) {
    held.release();
    throw error;
  }
}

function openServer(options: A2aServerOptions): A2aServer {
  const guard = createCredentialsGuard(options.credentials ?? {}, options.closedBecause);
  if (options.warnWhenOpen !== false) warnAboutOpenDoors(options, guard);
  const push = createPush(options);
  const engine = createEngine(options);
  // Ends that the last process could not tell are told now; those that the restart itself brings follow as events.
  const unshared = push?.recover((taskId) => engine.peek(taskId)) ?? [];
  for (const taskId of unshared) void options.share?.(engine.find(taskId));
  if (push !== undefined) engine.observe(push);
  for (const observer of options.observers ?? []) engine.observe(observer);
  engine.recover();
  const routes = createRoutes(options, guard, engine, push);
  return {
    mount(app) {
      app.route('/', routes);
    },
    engine,
    push,
    takeWebhook(change) {
      const { taskId } = 'added' in change ? change.added : change.removed;
      push?.take(change, engine.shared.endedHere(taskId));
    },
    stop() {
      engine.stop();
      push?.stop();
    },
  };
}

function createRoutes(
  options: A2aServerOptions,
  guard: CredentialsGuard,
  engine: TaskEngine,
  push: PushService | undefined,
): Hono<AppEnv> {
  const { logger, card: describe } = options;
  const facts = {
    pushNotifications: push !== undefined,
    schemes: guard.schemes,
    require: guard.require,
    extendedCard: guard.schemes.length > 0 && options.extendedCard !== undefined,
  };
  const signer = options.signingHome === undefined ? undefined : createCardSigner(options.signingHome);
  const card = (form: CardForm) => buildCard(form, describe(), facts, signer);
  // Read with the first request: before the service listens, its description has no address.
  const modes = lazy(() => modesOf(describe()));
  const operations = new Operations({
    engine,
    push,
    get inputModes() {
      return modes().input;
    },
    get outputModes() {
      return modes().output;
    },
    get supportedExtensions() {
      return modes().extensions;
    },
    get requiredExtensions() {
      return modes().required;
    },
    isTenant: (name) => options.tenants?.().includes(name) ?? false,
    extendedCard(dialect, principal) {
      // 0.3 of the contract answers with the public card where there is no other.
      if (dialect.strict && !facts.extendedCard) return undefined;
      const more = principal.kind === 'anonymous' ? {} : options.extendedCard?.(principal);
      return buildCard(dialect.name, { ...describe(), ...more }, facts, signer);
    },
  });
  const checkOrigin = createOriginCheck(options.allowedOrigins ?? []);
  const app = new Hono<AppEnv>();
  mountGuard(app, guard);
  mountCard(app, {
    card,
    jwks: signer?.jwks,
    now: () => (options.clock ?? systemClock).now(),
    guard: options.guardCard ? guard.handler : undefined,
  });
  const rpc = describeRoute({
    summary: 'Call any operation of A2A by JSON-RPC: message/send, message/stream, tasks/get and the others',
    headers: { 'A2A-Version': 'The version of A2A, 1.0 or 0.3; without it, 0.3 counts.' },
    body: rpcBody,
  });
  app.post('/a2a', rpc, rpcRoute({ operations, checkOrigin, logger }));
  mountRest(app, { operations, checkOrigin, logger });
  return app;
}

/** Everything that drives the agent; the well-known paths stay open. A path that ends in `/*` is meant without it too. */
function mountGuard(app: Hono<AppEnv>, guard: CredentialsGuard): void {
  const guarded = ['/a2a/*', '/message:send', '/message:stream', '/tasks/*', '/extendedAgentCard'];
  const older = [
    '/v1/message:send',
    '/v1/message:stream',
    '/v1/tasks/*',
    '/v1/card',
    '/v1/extendedAgentCard',
  ];
  for (const path of [...guarded, ...older]) app.use(path, guard.handler);
}

function modesOf(description: AgentDescription) {
  const extensions = extensionsOf(description);
  return {
    input: description.inputModes ?? defaultInputModes,
    output: description.outputModes ?? defaultOutputModes,
    extensions: extensions.map(({ uri }) => uri),
    required: extensions.flatMap(({ uri, required }) => (required === true ? [uri] : [])),
  };
}

function createEngine(options: A2aServerOptions): TaskEngine {
  return new TaskEngine({
    path: join(options.directory, 'a2a-tasks.db'),
    executor: options.executor,
    admit: options.admit,
    access: options.access,
    parkedTasks: options.parkedTasks ?? 'keep',
    quotaBytes: options.quotaBytes ?? 0,
    keptBesides: options.keptBesides,
    current: options.current,
    share: options.share,
    maximumRunning: options.maximumRunning ?? 1000,
    clock: options.clock ?? systemClock,
    logger: options.logger,
  });
}

function createPush(options: A2aServerOptions): PushService | undefined {
  if (options.push === false) return undefined;
  return new PushService({
    path: join(options.directory, 'a2a-push.db'),
    guard: createPushGuard(options.push ?? {}),
    share: options.shareWebhook,
    clock: options.clock ?? systemClock,
    logger: options.logger,
  });
}

function warnAboutOpenDoors(
  { allowedOrigins = [], logger }: A2aServerOptions,
  guard: CredentialsGuard,
): void {
  const doors = {
    ...(guard.schemes.length === 0 && {
      A2A_AUTH_TOKEN: 'anyone who reaches this port can drive the agent (A2A_AUTH_TOKEN closes it)',
    }),
    ...(allowedOrigins.length === 0 && {
      A2A_ALLOWED_ORIGINS: 'pages of any origin can read streams (A2A_ALLOWED_ORIGINS lists yours, or *)',
    }),
  };
  const opens = Object.keys(doors);
  if (opens.length > 0) logger.warn({ opens }, `A2A is open: ${Object.values(doors).join(', and ')}`);
}
