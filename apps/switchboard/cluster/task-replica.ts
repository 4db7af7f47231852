import type { A2aServer, LiveTask, SharedTask, SharedWebhook, Task, TaskEngine } from '@trunkline/a2a';
import type { Message, Subscription } from '@trunkline/bus';
import type { Logger } from '@trunkline/config';
import { BoundedMap } from '@trunkline/std';
import type { Plugin, PluginContext } from '../core/plugins.ts';
import type { SkillResult } from '../dispatch/executor.ts';
import { nodeName } from './leader.ts';
import type { Peers } from './peers.ts';
import { isSentAgain, type Sealing, SharedLog } from './workspace-replica.ts';

const taskTopic = 'cluster.tasks';
/** Progress of a task is told this late, several events at once. */
const progressMs = 500;
/** Of a task that is told with each progress; one with more is told when its turn ends. */
const mostProgress = 65_536;
/** Of an entry: sealed it stays below a message of NATS, which is a megabyte. */
const mostBytes = 700_000;
/** How often it is looked whether the switchboards are there that run a task. */
const lookEveryMs = 2000;
const mostTold = 10_000;
const mostResults = 1000;

interface TaskEntry extends SharedTask {
  node: string;
}

interface WebhookEntry {
  node: string;
  webhook: SharedWebhook;
}

type Server = Pick<A2aServer, 'engine' | 'takeWebhook' | 'push'>;

interface Started {
  log: SharedLog<{ sealed: string }>;
  node: string;
  peers: Peers;
  logger: Logger;
  server: Server;
}

/**
 * On a shared bus, every switchboard has the tasks of `/a2a` of all, so that any can be asked about each. Sealed: they are
 * private. What is told in the journal is how a task stands when a turn begins and ends, some of its progress, and its
 * webhooks.
 */
export function createTaskReplica({ seal, exchange }: Sealing) {
  let started: Started | undefined;
  /** Tells what happened before the others could be told, as a task that a restart ended; undefined once it has started. */
  let untold: BoundedMap<string, () => Promise<void>> | undefined = new BoundedMap(mostTold);
  let attached: Server | undefined;
  let timer: NodeJS.Timeout | undefined;
  let answers: Subscription | undefined;
  /** The last event of a task that was told. */
  const told = new BoundedMap<string, number>(mostTold);
  const progress = new Map<string, NodeJS.Timeout>();
  /** Tasks that run at other switchboards. */
  const elsewhere = new Map<string, string>();
  /** What came of them, by correlation: the one that asked may be gone. */
  const results = new BoundedMap<string, SkillResult>(mostResults);

  function attach(server: Server): void {
    attached = server;
    server.engine.observe({
      taskEvent(live) {
        if (live.state === 'working' && live.snapshot().runner === undefined) shareSoon(live);
      },
    });
  }

  function shareSoon(live: LiveTask): void {
    if (started === undefined || progress.has(live.id) || started.peers.list().length === 1) return;
    const share = () => {
      progress.delete(live.id);
      const isWorking = live.state === 'working' && live.snapshot().runner === undefined;
      if (isWorking && JSON.stringify(live.snapshot()).length < mostProgress) void tell(live);
    };
    progress.set(live.id, setTimeout(share, progressMs).unref());
  }

  /** Resolves when the others can read it, or it could not be told for now. */
  async function share(live: LiveTask): Promise<void> {
    clearTimeout(progress.get(live.id));
    progress.delete(live.id);
    await tell(live);
  }

  async function tell(live: LiveTask): Promise<void> {
    if (started === undefined) {
      untold?.set(live.id, () => tell(live));
      return;
    }
    const { log, node, server, logger } = started;
    const { runner: _, ...task } = live.snapshot();
    const { sequence, requestKey } = live;
    const before = told.get(live.id) ?? 0;
    try {
      const events = server.engine.eventsAfter(live, before);
      told.set(live.id, sequence);
      const text = fitting({ node, task, sequence, events, requestKey });
      await log.shareSurely({ sealed: seal.seal(text, taskTopic) }, live.id);
    } catch (error) {
      if (!isSentAgain(error)) told.set(live.id, before);
      const again = isSentAgain(error) ? '; retrying' : '';
      logger.warn({ err: error, task: live.id }, `failed to share a task${again}`);
      // Its entry will not come back: whoever waits for the end is told by this switchboard all the same.
      if (again === '' && isOver(live.state)) server.engine.shared.confirmEnd(live.id);
    }
  }

  /** Resolves with true when the others can read it, with false when it could not be told for now. */
  async function shareWebhook(webhook: SharedWebhook): Promise<boolean> {
    const { taskId } = 'added' in webhook ? webhook.added : webhook.removed;
    if (started === undefined) return false;
    const { log, node, logger } = started;
    try {
      const entry: WebhookEntry = { node, webhook };
      await log.shareSurely({ sealed: seal.seal(JSON.stringify(entry), taskTopic) }, taskId);
      return true;
    } catch (error) {
      const again = isSentAgain(error) ? '; retrying' : '';
      logger.warn({ err: error, task: taskId }, `failed to share a webhook${again}`);
      return false;
    }
  }

  async function take({ sealed }: { sealed: string }, { node, server, logger }: Started): Promise<void> {
    const { engine } = server;
    try {
      const entry = JSON.parse(await exchange.open(sealed, taskTopic)) as TaskEntry | WebhookEntry;
      if ('webhook' in entry) {
        if (entry.node !== node) server.takeWebhook(entry.webhook);
        return;
      }
      const { node: from, ...shared } = entry;
      const { id, state } = shared.task;
      if (from !== node) engine.shared.take({ ...shared, task: { ...shared.task, runner: from } });
      else if (isOver(state)) engine.shared.confirmEnd(id);
      if (state !== 'working' || from === node) elsewhere.delete(id);
      else elsewhere.set(id, from);
    } catch (error) {
      // A retry would not help, and later entries must not wait.
      logger.error({ err: error }, 'failed to take over a task of another switchboard');
    }
  }

  function hear({ correlationId, payload }: Message): void {
    if (elsewhere.has(correlationId.slice(0, idLength))) results.set(correlationId, payload as SkillResult);
  }

  /** Tasks of a switchboard that is gone go on here. */
  function look({ peers, server: { engine } }: Started): void {
    for (const [id, node] of elsewhere) {
      if (!peers.isGone(node)) continue;
      elsewhere.delete(id);
      engine.takeOver(id);
    }
  }

  async function start({ bus, home, logger, peers }: PluginContext): Promise<void> {
    const waiting = untold;
    if (bus.status().engine === 'embedded' || attached === undefined) {
      untold = undefined;
      return;
    }
    const server = attached;
    const node = await nodeName(home);
    for (const { id, runner } of workingTasks(server.engine))
      if (runner !== undefined) elsewhere.set(id, runner);
    answers = await bus.subscribe('agent.skill.response.*', hear, { plugin: 'cluster' });
    const onEntry = (entry: { sealed: string }) => take(entry, running);
    const log = new SharedLog({ bus, topic: taskTopic, durable: `tasks-${node}`, logger, onEntry });
    const running: Started = { log, node, peers, logger, server };
    await log.start();
    started = running;
    untold = undefined;
    for (const tellNow of waiting?.values() ?? []) void tellNow();
    server.push?.shareAgain();
    timer = setInterval(() => look(running), lookEveryMs).unref();
  }

  async function stop(): Promise<void> {
    clearInterval(timer);
    for (const waiting of progress.values()) clearTimeout(waiting);
    await answers?.unsubscribe();
    await started?.log.stop();
    started = undefined;
  }

  const plugin: Plugin = {
    name: 'task-replica',
    description: 'Shares A2A tasks with the other switchboards of a bus.',
    after: ['peers'],
    start,
    stop,
  };
  return {
    plugin,
    attach,
    share,
    shareWebhook,
    resultOf: (correlationId: string) => results.get(correlationId),
  };
}

export type TaskReplica = ReturnType<typeof createTaskReplica>;

/** Of the id of a task, which begins the correlations of its turns. */
const idLength = 36;

function* workingTasks(engine: TaskEngine): Generator<Task> {
  for (let pageToken = ''; ; ) {
    const page = engine.list({ state: 'working', pageSize: 100, ...(pageToken && { pageToken }) });
    yield* page.tasks;
    pageToken = page.nextPageToken;
    if (pageToken === '') return;
  }
}

/** What is too long is told without its events, then without its files, and last with its state alone, which all must know. */
function fitting(entry: TaskEntry): string {
  const brief = { ...entry, events: [] };
  for (const form of [entry, brief, { ...brief, task: withoutFiles(entry.task) }]) {
    const text = JSON.stringify(form);
    if (Buffer.byteLength(text) <= mostBytes) return text;
  }
  return JSON.stringify({ ...brief, task: withoutContent(entry.task) });
}

function withoutContent(task: Task): Task {
  const text = '(It is too long to be shared: ask the switchboard that did the work.)';
  const artifacts = task.artifacts
    .slice(0, 1)
    .map((each) => ({ ...each, parts: [{ type: 'text' as const, text }] }));
  return { ...task, history: [], artifacts };
}

function withoutFiles(task: Task): Task {
  const plain = <Parts extends Task['artifacts'][number]['parts']>(parts: Parts) =>
    parts.map((part) =>
      part.type === 'file' && 'bytes' in part
        ? {
            type: 'text' as const,
            text: `(${part.name ?? 'A file'} is at the switchboard that did the work.)`,
          }
        : part,
    );
  return {
    ...task,
    history: task.history.map((message) => ({ ...message, parts: plain(message.parts) })),
    artifacts: task.artifacts.map((artifact) => ({ ...artifact, parts: plain(artifact.parts) })),
  };
}

function isOver(state: LiveTask['state']): boolean {
  return state !== 'working' && state !== 'input-required' && state !== 'auth-required';
}
