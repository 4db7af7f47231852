import { type Principal, withOrigins } from '@trunkline/identity';
import type { Dialect, TaskView } from './dialects/dialect.ts';
import { stateOfName } from './dialects/dialects.ts';
import {
  findPushConfig,
  readPushTarget,
  readSend,
  requireText,
  type SendRequest,
} from './dialects/read/send.ts';
import {
  field,
  type JsonObject,
  optionalCount,
  optionalFlag,
  optionalId,
  optionalText,
  requiredId,
} from './dialects/read/values.ts';

import type { TaskEngine } from './engine/engine.ts';
import { Feed } from './engine/feed.ts';
import type { LiveTask, Outcome } from './engine/live-task.ts';
import type { StartedTurn } from './engine/send-command.ts';
import type { ListQuery } from './engine/task-memory.ts';
import type { VisibleTasks } from './engine/visible-tasks.ts';
import { A2aError, invalidParams, requireStored } from './errors/a2a-error.ts';
import { OutputFilter, requireAccepted, requireCommonMode } from './protocol/media-types.ts';
import { isTerminal } from './protocol/model.ts';
import {
  type CheckPrincipal,
  receivePrincipal,
  refuseNobody,
  requirePrincipal,
} from './protocol/principal-extension.ts';
import type { PushService } from './push/push-service.ts';

export interface OperationsOptions {
  engine: TaskEngine;
  /** Left out, push notifications are not supported. */
  push: PushService | undefined;
  /** Media types that messages may carry. */
  inputModes: readonly string[];
  /** Media types of answers. */
  outputModes: readonly string[];
  /** Extensions that the card lists, and those that a caller must declare. */
  supportedExtensions: readonly string[];
  requiredExtensions: readonly string[];
  /** Whether the endpoint has such a tenant. */
  isTenant(name: string): boolean;
  /** The extended card in a version for somebody; undefined when there is none to ask for. */
  extendedCard(dialect: Dialect, principal: Principal): object | undefined;
}

/** How a request came in. */
export interface Call {
  dialect: Dialect;
  params: JsonObject;
  principal: Principal;
  /** Nobody is let in by the headers: the message has to say on whose behalf one of our services sends it. */
  awaitsPrincipal: boolean;
  /** One of our services showed its token, and the header says on whose behalf. */
  isNamed: boolean;
  checkPrincipal: CheckPrincipal | undefined;
  /** Somebody with the rights of today. */
  current: (principal: Principal) => Principal;
  /** The extensions that the caller declared. */
  extensions: readonly string[];
  /** Where a reader was when its stream broke off. */
  lastEventId?: string;
}

type Caller = Pick<Call, 'params' | 'principal' | 'awaitsPrincipal'>;

type StreamingOperation = 'stream' | 'subscribe';

/** The operations by the names under which the transports list them. */
export type OperationName = Exclude<keyof Operations, 'activated'>;

/** Whether the operation answers with a stream of events. */
export function isStreaming(name: OperationName): name is StreamingOperation {
  return name === 'stream' || name === 'subscribe';
}

/** Everything a caller can ask for, whatever the version and the transport. Results are in the caller's dialect. */
export class Operations {
  readonly #options: OperationsOptions;

  constructor(options: OperationsOptions) {
    this.#options = options;
  }

  async send(call: Call): Promise<object> {
    const request = this.#readSend(call);
    const started = this.#start(request.call, request);
    const turn = started instanceof Promise ? await started : started;
    await requireStored(turn.stored);
    const outcome = request.blocking ? await turn.live.settled() : { task: turn.live.snapshot() };
    return encodeOutcome(call.dialect, outcome, viewOf(request.historyLength), filterOf(request));
  }

  /** The extensions that the caller asked for and the agent has. */
  activated({ extensions }: Call): string[] {
    return extensions.filter((uri) => this.#options.supportedExtensions.includes(uri));
  }

  async stream(call: Call): Promise<Feed> {
    const request = this.#readSend(call);
    const started = this.#start(request.call, request);
    const turn = started instanceof Promise ? await started : started;
    const feed = Feed.fromNow(this.#options.engine, turn.live, { until: 'turn', filter: filterOf(request) });
    try {
      await requireStored(turn.stored);
      // A turn that has ended by now goes out whole.
      await turn.live.saving;
      return feed;
    } catch (error) {
      feed.close();
      throw error;
    }
  }

  get(call: Call): object {
    const { dialect, params } = call;
    const task = this.#tasks(call).get(requiredId(params, 'id', 'taskId'));
    return dialect.task(task, viewOf(optionalCount(params, 'historyLength')));
  }

  list(call: Call): object {
    const { dialect, params } = call;
    const historyLength = optionalCount(params, 'historyLength');
    const artifacts = optionalFlag(params, 'includeArtifacts') ?? false;
    const page = this.#tasks(call).list(readQuery(params));
    return dialect.page(page, { ...viewOf(historyLength), artifacts });
  }

  async cancel(call: Call): Promise<object> {
    const { dialect, params } = call;
    const id = requiredId(params, 'id', 'taskId');
    const { task, stored } = this.#tasks(call).cancel(id, dialect.strict);
    await requireStored(stored);
    return dialect.task(task);
  }

  /** The rest of a task: from where the reader was, else from now. */
  subscribe(call: Call): Feed {
    const { dialect, params, lastEventId } = call;
    const live = this.#tasks(call).find(requiredId(params, 'id', 'taskId'));
    if (dialect.strict && isTerminal(live.state)) {
      throw new A2aError(
        'UNSUPPORTED_OPERATION',
        `This operation is not supported: task ${live.id} has ended`,
      );
    }
    const until = dialect.strict ? 'task' : 'turn';
    const sequence = readSequence(lastEventId, live);
    return sequence === undefined
      ? Feed.fromNow(this.#options.engine, live, { until })
      : Feed.after(this.#options.engine, live, sequence, { until });
  }

  async setPush(call: Call): Promise<object> {
    const { dialect, params } = call;
    const push = this.#push();
    const live = this.#tasks(call).find(requiredId(params, 'taskId', 'id'));
    const target = readPushTarget(findPushConfig(params), dialect);
    await push.check(target);
    const { config, shared } = push.add(live.snapshot(), target, dialect.version);
    await shared;
    return dialect.pushConfig(config);
  }

  getPush(call: Call): object {
    const { dialect } = call;
    const { taskId, id } = this.#pushConfigPlace(call);
    return dialect.pushConfig(this.#push().get(taskId, id));
  }

  listPush({ dialect, ...call }: Call): object {
    const { taskId } = this.#pushPlace(call);
    return dialect.pushConfigs(this.#push().list(taskId));
  }

  async deletePush(call: Call): Promise<object | null> {
    const { dialect } = call;
    const { taskId, id } = this.#pushConfigPlace(call);
    await this.#push().delete(taskId, id);
    return dialect.deleted;
  }

  deliveries(call: Call): object {
    const { taskId } = this.#pushPlace(call);
    return { deliveries: this.#push().deliveries(taskId) };
  }

  card(call: Call): object {
    const { dialect, principal } = call;
    // Refuses a tenant that there is not.
    this.#tasks(call);
    const card = this.#options.extendedCard(dialect, principal);
    if (card !== undefined) return card;
    throw new A2aError('UNSUPPORTED_OPERATION', 'This operation is not supported: there is no extended card');
  }

  #readSend(call: Call): SendRequest & { call: Call } {
    this.#requireExtensions(call.extensions);
    const request = readSend(call.params, call.dialect);
    const received = receivePrincipal(request.message, request.metadata, call);
    requireAccepted(request.mediaTypes, this.#options.inputModes);
    requireCommonMode(request.acceptedOutputModes, this.#options.outputModes);
    requireText(request.message);
    return {
      ...request,
      message: received.message,
      metadata: received.metadata,
      call: askedBy(call, received.principal),
    };
  }

  /** At once, unless a webhook has to be checked first. */
  #start(call: Call, request: SendRequest): StartedTurn | Promise<StartedTurn> {
    const { dialect } = call;
    const { message, metadata, acceptedOutputModes, push: target } = request;
    const extensions = this.activated(call);
    const command = {
      message,
      metadata,
      strict: dialect.strict,
      ...(acceptedOutputModes.length > 0 && { acceptedOutputModes }),
      ...(extensions.length > 0 && { extensions }),
    };
    const tasks = this.#tasks(call);
    if (target === undefined) return tasks.start(command);
    const push = this.#push();
    return push.check(target).then(() =>
      tasks.start({
        ...command,
        prepare: (task) => void push.add(task, target, dialect.version),
      }),
    );
  }

  #tasks({ params, principal, awaitsPrincipal }: Caller): VisibleTasks {
    if (awaitsPrincipal) requirePrincipal();
    const tenant = optionalText(params, 'tenant');
    if (tenant !== undefined && !this.#options.isTenant(tenant))
      throw invalidParams(
        `There is no tenant ${tenant.slice(0, 100)} here: the card names those there are`,
        'tenant',
      );
    return this.#options.engine.for(principal, tenant);
  }

  #requireExtensions(declared: readonly string[]): void {
    const missing = this.#options.requiredExtensions.find((uri) => !declared.includes(uri));
    if (missing === undefined) return;
    throw new A2aError('EXTENSION_SUPPORT_REQUIRED', `Extension support required: declare ${missing}`);
  }

  #push(): PushService {
    if (this.#options.push !== undefined) return this.#options.push;
    throw new A2aError('PUSH_NOTIFICATION_NOT_SUPPORTED', 'Push Notification is not supported');
  }

  /** 1.0 names the config; in 0.3 none means the first to read, and all to delete. */
  #pushConfigPlace(call: Call): { taskId: string; id: string | undefined } {
    const place = this.#pushPlace(call);
    if (place.id === undefined && call.dialect.strict) throw invalidParams('id is missing', 'id');
    return place;
  }

  /** In 0.3 `id` names the task, and the config has a long name; in 1.0 `id` is the config. */
  #pushPlace(call: Caller): { taskId: string; id: string | undefined } {
    const { params } = call;
    // Where there are no webhooks, that is the answer for every task.
    this.#push();
    const named = field(params, 'taskId') !== undefined;
    const taskId = requiredId(params, 'taskId', 'id');
    this.#tasks(call).find(taskId);
    const id =
      optionalId(params, 'pushNotificationConfigId') ?? (named ? optionalId(params, 'id') : undefined);
    return { taskId, id };
  }
}

/** What the message says counts before the headers, whose origins stay. */
function askedBy(call: Call, named: Principal | undefined): Call {
  if (named === undefined) return call;
  const principal = withOrigins(call.current(named), call.principal.origins);
  // The guard keeps out whom the header calls anonymous, where a key is needed.
  if (call.awaitsPrincipal && principal.kind === 'anonymous') refuseNobody();
  return { ...call, principal, awaitsPrincipal: false };
}

function encodeOutcome(
  dialect: Dialect,
  outcome: Outcome,
  view: TaskView,
  filter: OutputFilter | undefined,
): object {
  if (!('task' in outcome)) return dialect.messageResult(outcome.message);
  return dialect.taskResult(filter?.task(outcome.task) ?? outcome.task, view);
}

function filterOf({ acceptedOutputModes }: SendRequest): OutputFilter | undefined {
  return acceptedOutputModes.length === 0 ? undefined : new OutputFilter(acceptedOutputModes);
}

function viewOf(historyLength: number | undefined): TaskView {
  return historyLength === undefined ? {} : { historyLength };
}

function readQuery(params: JsonObject): ListQuery {
  const contextId = optionalId(params, 'contextId');
  const status = optionalText(params, 'status');
  const pageSize = optionalCount(params, 'pageSize');
  const pageToken = optionalText(params, 'pageToken');
  const after = optionalText(params, 'statusTimestampAfter');
  return {
    ...(contextId !== undefined && { contextId }),
    ...(status !== undefined && status !== 'TASK_STATE_UNSPECIFIED' && { state: readState(status) }),
    ...(pageSize !== undefined && { pageSize }),
    ...(pageToken !== undefined && { pageToken }),
    ...(after !== undefined && { updatedAfter: readTime(after) }),
  };
}

function readState(name: string): string {
  const state = stateOfName(name);
  if (state !== undefined) return state;
  throw invalidParams('status is not a state that tasks have here', 'status');
}

function readTime(text: string): number {
  const time = Date.parse(text);
  if (!Number.isNaN(time)) return time;
  throw invalidParams(
    'statusTimestampAfter must be a time like 2026-01-31T12:00:00Z',
    'statusTimestampAfter',
  );
}

/** Numbers beyond the last event are not ours. */
function readSequence(lastEventId: string | undefined, live: LiveTask): number | undefined {
  if (lastEventId === undefined || !/^\d{1,15}$/.test(lastEventId)) return undefined;
  const sequence = Number(lastEventId);
  return sequence <= live.sequence ? sequence : undefined;
}
