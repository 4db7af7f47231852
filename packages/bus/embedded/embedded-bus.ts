import { drained } from '../delivery/durable-delivery.ts';
import { DispatchLoop, FailureReporter } from '../delivery/live-subscription.ts';
import { checkSubscription, Requests } from '../delivery/requests.ts';
import { BusError } from '../errors.ts';
import { checkMessage, decodeMessage } from '../message.ts';
import {
  type CommonOptions,
  checkLease,
  checkMemory,
  type Settings,
  settingsOf,
  silentLogger,
} from '../options.ts';
import type {
  Bus,
  BusLogger,
  BusStatus,
  DeadLetter,
  Draft,
  Handler,
  HistoryEntry,
  HistoryQuery,
  Lease,
  LeaseOptions,
  Memory,
  MemoryOptions,
  Message,
  Published,
  ReplayTarget,
  RequestOptions,
  SubscribeOptions,
  Subscription,
} from '../port.ts';
import { DurableTopics, TopicIndex } from '../topics/topic-index.ts';
import { Appender, LiveRegistry, type Sink } from './appender.ts';
import { CursorSaver } from './cursor-saver.ts';
import { DurableRegistry } from './durable-registry.ts';
import { EmbeddedMemories, readHistory } from './history.ts';
import type { JournalStart } from './journal/journal.ts';
import type { StoredDeadLetter } from './journal/message-table.ts';
import { JournalThread } from './journal/thread.ts';

export interface EmbeddedBusOptions extends CommonOptions {
  /** Where the journal lies; one process at a time. */
  directory: string;
}

const listedDeadLetters = 1000;

/** A bus inside this process, with its journal in SQLite. */
export async function createEmbeddedBus(options: EmbeddedBusOptions): Promise<Bus> {
  const settings = settingsOf(options);
  const durableTopics = new DurableTopics(options.durableTopics);
  const { logger = silentLogger } = options;
  const { retainMs, retainBytes, forgetAfterMs } = settings;
  const journal = new JournalThread({ directory: options.directory, retainMs, retainBytes, forgetAfterMs });
  try {
    const start = await journal.call('start');
    const memories = new EmbeddedMemories(options.directory);
    return new EmbeddedBus({ journal, start, memories, durableTopics, settings, logger });
  } catch (error) {
    await journal.terminate();
    throw error;
  }
}

interface Parts {
  journal: JournalThread;
  start: JournalStart;
  memories: EmbeddedMemories;
  durableTopics: DurableTopics;
  settings: Settings;
  logger: BusLogger;
}

class EmbeddedBus implements Bus {
  readonly #journal: JournalThread;
  readonly #memories: EmbeddedMemories;
  readonly #durableTopics: DurableTopics;
  readonly #settings: Settings;
  readonly #logger: BusLogger;
  readonly #index = new TopicIndex<Sink>();
  readonly #appender: Appender;
  readonly #saver: CursorSaver;
  readonly #live: LiveRegistry;
  readonly #durable: DurableRegistry;
  readonly #requests = new Requests(this);
  readonly #abort = new AbortController();
  readonly #liveCounters = { queued: 0, running: 0, dropped: 0 };
  readonly #starts: number;
  readonly #maintenance: NodeJS.Timeout;
  #committed: number;
  #stopping: Promise<void> | undefined;
  #stopped = false;

  constructor({ journal, start, memories, durableTopics, settings, logger }: Parts) {
    this.#journal = journal;
    this.#memories = memories;
    this.#committed = start.lastPosition;
    this.#starts = start.starts;
    this.#durableTopics = durableTopics;
    this.#settings = settings;
    this.#logger = logger;
    this.#appender = new Appender(journal, (message, position) => this.#dispatch(message, position));
    this.#saver = new CursorSaver(journal, logger);
    const delivery = {
      loop: new DispatchLoop(),
      failures: new FailureReporter((draft) => this.publish(draft), logger),
      logger,
      signal: this.#abort.signal,
      firstDelivery: Object.freeze({
        attempt: 1,
        signal: this.#abort.signal,
        stopping: this.#abort.signal,
        begin: async () => undefined,
      }),
      live: this.#liveCounters,
    };
    this.#live = new LiveRegistry(this.#index, delivery);
    this.#durable = new DurableRegistry(this.#index, {
      delivery,
      retry: { maxAttempts: settings.maxAttempts, delayMs: settings.retryDelayMs },
      journal,
      saver: this.#saver,
      committed: () => this.#committed,
    });
    this.#maintenance = setInterval(() => void this.#maintain(), settings.maintainEveryMs).unref();
  }

  async publish(draft: Draft): Promise<Published> {
    this.#checkRunning();
    const checked = checkMessage(draft);
    const { message } = checked;
    if (this.#durableTopics.has(message.topic)) await this.#appender.append(checked);
    else this.#dispatch(message, 0);
    return { id: message.id, correlationId: message.correlationId };
  }

  async subscribe(pattern: string, handler: Handler, options: SubscribeOptions = {}): Promise<Subscription> {
    this.#checkRunning();
    const checked = checkSubscription(pattern, handler, options);
    if (checked.kind === 'live') return this.#live.add(checked.live, checked.group);
    this.#durableTopics.checkCovers(pattern);
    return this.#durable.add(checked.durable, checked.member);
  }

  request(topic: string, payload: unknown, options: RequestOptions): Promise<Message> {
    return this.#requests.request(topic, payload, options);
  }

  history(query: HistoryQuery = {}): Promise<HistoryEntry[]> {
    return readHistory(this.#journal, this.#committed, query);
  }

  async deadLetters(): Promise<DeadLetter[]> {
    return (await this.#journal.call('deadLetters', listedDeadLetters)).map(deadLetterOf);
  }

  async replay(target: ReplayTarget): Promise<void> {
    if ('durable' in target) return this.#durable.moveCursor(target.durable, target.after);
    const replayed = await this.#journal.call('replay', Number(target.deadLetterId));
    if (replayed === undefined) throw unknownDeadLetter(target.deadLetterId);
    this.#committed = Math.max(this.#committed, replayed.position);
    this.#durable.deliverTo(replayed.name, decodeMessage(replayed.body), replayed.position);
  }

  async lease(name: string, options: LeaseOptions): Promise<Lease> {
    checkLease(name, options);
    return embeddedLease(name, this.#starts, options);
  }

  async memory(name: string, options: MemoryOptions): Promise<Memory> {
    this.#checkRunning();
    checkMemory(name, options);
    return this.#memories.open(name, options);
  }

  status(): BusStatus {
    return {
      engine: 'embedded',
      connected: !this.#stopped && this.#journal.failure === undefined,
      subscriptions: this.#live.size + this.#durable.size,
      queued: this.#liveCounters.queued + this.#durable.queued,
      pending: this.#appender.pending,
      dropped: this.#liveCounters.dropped,
    };
  }

  stop(): Promise<void> {
    this.#stopping ??= this.#stop();
    return this.#stopping;
  }

  /** Durable subscriptions begin nothing new; the others empty their queues, and what handlers publish is still taken. */
  async #stop(): Promise<void> {
    clearInterval(this.#maintenance);
    this.#durable.close();
    const idle = () => this.#liveIdle() && this.#durable.idle && this.#appender.pending === 0;
    if (!(await drained(idle, this.#settings.drainTimeoutMs))) {
      this.#logger.warn(this.status(), 'bus stopped with handlers running');
    }
    this.#stopped = true;
    this.#abort.abort();
    this.#memories.close();
    if (this.#journal.failure !== undefined) return;
    await this.#saver.close();
    await this.#journal.close();
  }

  /** Positions come in order; a feed that takes none of them still knows that it missed nothing. */
  #dispatch(message: Message, position: number): void {
    if (position > 0) this.#committed = position;
    for (const sink of this.#index.match(message.topic)) sink.deliver(message, position);
  }

  async #maintain(): Promise<void> {
    try {
      const names = this.#durable.checkpoint();
      await this.#saver.flush();
      const { forgotten, deadLettersLost } = await this.#journal.call('maintain', names);
      this.#durable.drop(forgotten);
      if (forgotten.length > 0)
        this.#logger.warn({ forgotten }, 'durable names without subscriber forgotten');
      if (deadLettersLost > 0) this.#logger.warn({ deadLettersLost }, 'oldest dead letters dropped');
    } catch (error) {
      this.#logger.error({ err: error }, 'failed to prune journal');
    }
  }

  #liveIdle(): boolean {
    return this.#liveCounters.queued === 0 && this.#liveCounters.running === 0;
  }

  #checkRunning(): void {
    if (this.#stopped)
      throw new BusError('stopped', 'The bus has stopped: nothing can be published or subscribed.');
  }
}

function deadLetterOf({ id, name, attempts, error, buriedAt, body }: StoredDeadLetter): DeadLetter {
  return { id: String(id), durable: name, attempts, error, buriedAt, message: decodeMessage(body) };
}

function unknownDeadLetter(id: string): BusError {
  return new BusError(
    'dead_letter_unknown',
    `There is no dead letter ${JSON.stringify(id)}: list them again.`,
  );
}

/** One process has the embedded bus for itself, so it holds every lease; the token grows with each start. */
function embeddedLease(name: string, starts: number, options: LeaseOptions): Lease {
  let token: number | undefined = starts;
  queueMicrotask(() => token !== undefined && options.onChange?.(token));
  return {
    name,
    get token() {
      return token;
    },
    confirm: async () => {
      if (token !== undefined) return token;
      throw new BusError('lease_lost', `The lease ${name} was released.`);
    },
    release: async () => {
      if (token === undefined) return;
      token = undefined;
      options.onChange?.(undefined);
    },
  };
}
