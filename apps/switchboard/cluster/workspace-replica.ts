import { randomUUID } from 'node:crypto';
import { type Bus, BusError, type Draft, type Message, type Subscription } from '@trunkline/bus';
import type { Logger } from '@trunkline/config';
import { ControlPlaneError, type WrittenFile } from '../control/control-plane.ts';
import { holdsSecrets } from '../control/redact.ts';
import type { Seal } from '../control/seal.ts';
import type { Plugin, PluginContext } from '../core/plugins.ts';
import { incidentsText, readIncidents, withIncident } from '../incidents/incident-file.ts';
import { type EditedFile, followHandEdits } from './hand-edits.ts';
import { nodeName } from './leader.ts';
import type { SealExchange } from './seal-exchange.ts';

const catchUpLimitMs = 30_000;

const topic = 'config.files';

/** Of a log: entries that wait for the journal to come back, and how long until they are tried again. */
const mostUnsent = 1000;
const sendAgainMs = 2000;

/** A written file; its text is sealed if it can hold credentials. */
type SharedFile = Omit<ReplicatedFile, 'text'> & ({ text: string | null } | { sealed: string });

type ReplicatedFile = WrittenFile | (EditedFile & Pick<WrittenFile, 'change' | 'about'>);

type HandEdits = Awaited<ReturnType<typeof followHandEdits>>;

export interface Sealing {
  seal: Pick<Seal, 'seal'>;
  exchange: Pick<SealExchange, 'open'>;
}

/** On a shared bus, writes each command's change, and each edit by hand, into every workspace; changes are listed there too. */
export class WorkspaceReplica implements Plugin {
  readonly name = 'workspace-replica';
  #log: SharedLog<SharedFile> | undefined;
  /** Entries that others changed after the last change made here. */
  readonly #overwritten = new Set<string>();
  #forget: () => void = () => undefined;
  #edits: HandEdits | undefined;
  readonly #sealing: Sealing;

  constructor(sealing: Sealing) {
    this.#sealing = sealing;
  }

  async start(context: PluginContext): Promise<void> {
    const { bus, controlPlane, home } = context;
    if (bus.status().engine === 'embedded') return;
    const durable = `files-${await nodeName(home)}`;
    const onEntry = (file: SharedFile, isOwn: boolean) => this.#take(file, isOwn, context, edits);
    const log = new SharedLog<SharedFile>({ bus, topic, durable, onEntry });
    const share = async (written: ReplicatedFile) => {
      this.#overwritten.delete(entryOf(written));
      // In any order: an incident is added to those of the others. Any other file is shared as it is by then.
      if (written.about === undefined) return await log.share(this.#shared(written));
      await log.shareSurely(this.#shared(written), entryOf(written)).catch((error: unknown) => {
        // It is written here and goes again: whoever reported it must not do so twice.
        if (!isSentAgain(error)) throw error;
      });
    };
    // As it is at the start the others have it; one that is edited later is shared whole.
    await controlPlane
      .noteEdit('incidents', 'incidents', async () => undefined)
      .catch((error: unknown) => {
        // A pipe, a socket or a device: the workspace itself reports it.
        if (!(error instanceof ControlPlaneError)) throw error;
      });
    const edits = await followHandEdits(context, share);
    this.#edits = edits;
    // Last: what others edited while this switchboard was stopped comes at once.
    await log.start().catch(async (error: unknown) => {
      await edits.stop();
      throw error;
    });
    this.#log = log;
    this.#forget = controlPlane.onWrite(share);
  }

  async stop(): Promise<void> {
    this.#forget();
    await this.#edits?.stop();
    await this.#log?.stop();
  }

  /** Resolves when all changes made so far are in this workspace. */
  async catchUp(): Promise<void> {
    await this.#log?.catchUp();
  }

  /**
   * Entries come in the same order everywhere, so that all workspaces end alike: an own change that another overwrote
   * is applied again.
   */
  async #take(file: SharedFile, isOwn: boolean, context: PluginContext, edits: HandEdits): Promise<void> {
    if (!isOwn) this.#overwritten.add(entryOf(file));
    else if (!this.#overwritten.delete(entryOf(file))) return;
    const whole = await this.#opened(file, context);
    // The change of an own file is listed since it was made.
    if (whole === undefined) return;
    if (whole.kind === 'file') await edits.take(whole as EditedFile);
    else await apply({ ...(whole as WrittenFile), ...(isOwn && { change: undefined }) }, context);
  }

  #shared(written: ReplicatedFile): SharedFile {
    const { text, ...rest } = written;
    const isSecret = written.kind === 'file' || holdsSecrets(written.kind);
    if (text === null || !isSecret) return written;
    return { ...rest, sealed: this.#sealing.seal.seal(text, entryOf(written)) };
  }

  /** Undefined when it cannot be opened: later entries must not wait for it. */
  async #opened(file: SharedFile, { logger }: PluginContext): Promise<ReplicatedFile | undefined> {
    if ('text' in file) return file;
    try {
      const { sealed, ...rest } = file;
      return { ...rest, text: await this.#sealing.exchange.open(sealed, entryOf(file)) };
    } catch (error) {
      logger.error(
        { err: error, file: file.file },
        'failed to open a file of another switchboard; save it there again',
      );
      return undefined;
    }
  }
}

/** File names of an entry may differ between switchboards. */
function entryOf({ kind, name }: Pick<ReplicatedFile, 'kind' | 'name'>): string {
  return `${kind}/${name}`;
}

async function apply(written: WrittenFile, context: PluginContext): Promise<void> {
  const { kind, name, file, text, by, change, about } = written;
  const { controlPlane, bus, logger } = context;
  const known = change === undefined ? { quiet: true } : { shared: change };
  const note = { actor: by, ...known, ...(about !== undefined && { about }) };
  let kept: Draft | undefined;
  try {
    if ((await controlPlane.read(kind, name)) === text) return;
    if (text === null) {
      kept = await controlPlane.keepAside(kind, name);
      await controlPlane.remove(kind, name, note);
    } else {
      controlPlane.check(kind, name, text);
      const replace = async (standing: string | null) => {
        kept = await controlPlane.keepAside(kind, name);
        return kept === undefined ? merged(written, text, standing) : text;
      };
      await controlPlane.update(kind, name, replace, note);
    }
    if (kept !== undefined) await bus.publish(kept);
  } catch (error) {
    // A retry would not help, and later entries must not wait.
    logger.error({ err: error, file }, 'failed to apply change of another switchboard');
  }
}

interface Unsent<Entry> {
  /** Of its message: the journal takes it once. */
  id: string;
  entry: Entry;
  settled: PromiseWithResolvers<void>;
}

/** Whether an entry that was not shared goes again. */
export function isSentAgain(error: unknown): boolean {
  return error instanceof BusError && error.code === 'unavailable';
}

/** Of incidents the one that was changed; what stands here may have others that its writer did not know. */
function merged({ about }: WrittenFile, text: string, standing: string | null): string {
  const incident = about === undefined ? undefined : readIncidents(text).find(({ id }) => id === about);
  if (incident === undefined || standing === null) return text;
  return incidentsText(withIncident(readIncidents(standing), incident));
}

interface SharedLogSettings<Entry> {
  bus: Bus;
  topic: string;
  durable: string;
  /** Told of entries that `shareSurely` was given and a stop loses. */
  logger?: Pick<Logger, 'warn'>;
  /** Called for every entry, own ones included, in the same order everywhere. */
  onEntry: (entry: Entry, isOwn: boolean) => void | Promise<void>;
}

/** A log shared by all switchboards on the bus; each reads on from where it stopped. */
export class SharedLog<Entry extends object> {
  readonly #settings: SharedLogSettings<Entry>;
  readonly #origin = randomUUID();
  readonly #barriers = new Map<string, () => void>();
  /** Entries that the journal has not taken, by what they are about. */
  readonly #unsent = new Map<string, Unsent<Entry>[]>();
  readonly #sending = new Set<string>();
  #isStopped = false;
  #again: NodeJS.Timeout | undefined;
  #subscription: Subscription | undefined;

  constructor(settings: SharedLogSettings<Entry>) {
    this.#settings = settings;
  }

  async start(): Promise<void> {
    const { bus, topic, durable } = this.#settings;
    this.#subscription = await bus.subscribe(topic, (message) => this.#take(message), {
      durable,
      plugin: 'cluster',
    });
  }

  async stop(): Promise<void> {
    this.#isStopped = true;
    clearTimeout(this.#again);
    // The first of those that are being sent may still arrive.
    const lost = [...this.#unsent].flatMap(([key, waiting]) => waiting.slice(this.#sending.has(key) ? 1 : 0));
    for (const { settled } of lost) settled.reject(new BusError('stopped', 'The switchboard stops.'));
    this.#unsent.clear();
    const { topic, logger } = this.#settings;
    if (lost.length > 0) logger?.warn({ topic, lost: lost.length }, 'stopped before all entries were shared');
    await this.#subscription?.unsubscribe();
  }

  /** Resolves when the entry is in the journal. */
  async share(entry: Entry): Promise<void> {
    await this.#publish({ entry });
  }

  /**
   * As `share`, behind all earlier entries with the same key. One that the journal does not take goes again until it does,
   * which the rejection does not wait for.
   */
  async shareSurely(entry: Entry, key: string): Promise<void> {
    if (this.#isStopped) throw new BusError('stopped', 'The switchboard stops.');
    const waiting = this.#unsent.get(key) ?? [];
    // One that can go at once is bounded by the bus.
    const mustWait = waiting.length > 0 || this.#again !== undefined;
    if (mustWait && [...this.#unsent.values()].flat().length >= mostUnsent)
      throw new BusError('overloaded', `${mostUnsent} entries wait for the journal already.`);
    const settled = Promise.withResolvers<void>();
    this.#unsent.set(key, waiting);
    waiting.push({ id: randomUUID(), entry, settled });
    void this.#send(key, waiting);
    await settled.promise;
  }

  /** One after the other, and no later one before an earlier. False when the journal is away. */
  async #send(key: string, waiting: Unsent<Entry>[]): Promise<boolean> {
    if (this.#sending.has(key)) return true;
    this.#sending.add(key);
    try {
      for (let next = waiting[0]; next !== undefined && !this.#isStopped; next = waiting[0]) {
        try {
          await this.#publish({ entry: next.entry }, next.id);
          next.settled.resolve();
        } catch (error) {
          for (const { settled } of isSentAgain(error) ? waiting : [next]) settled.reject(error);
          if (isSentAgain(error)) {
            this.#planAgain();
            return false;
          }
        }
        waiting.shift();
      }
      this.#unsent.delete(key);
      return true;
    } finally {
      this.#sending.delete(key);
    }
  }

  #planAgain(): void {
    if (!this.#isStopped) this.#again ??= setTimeout(() => void this.#sendAgain(), sendAgainMs).unref();
  }

  /** One after the other: while the journal is away each takes as long as a publish may wait. */
  async #sendAgain(): Promise<void> {
    for (const [key, waiting] of [...this.#unsent]) if (!(await this.#send(key, waiting))) break;
    this.#again = undefined;
    if ([...this.#unsent.keys()].some((key) => !this.#sending.has(key))) this.#planAgain();
  }

  /** Resolves when everything shared so far has been handled here: a barrier sent after it has come back. */
  async catchUp(): Promise<void> {
    const barrier = randomUUID();
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const words = `What others wrote to ${this.#settings.topic} was not read within ${catchUpLimitMs / 1000} s.`;
    const timer = setTimeout(() => reject(new BusError('unavailable', words)), catchUpLimitMs);
    this.#barriers.set(barrier, resolve);
    try {
      await this.#publish({ barrier });
      await promise;
    } finally {
      clearTimeout(timer);
      this.#barriers.delete(barrier);
    }
  }

  async #publish(content: { entry: Entry } | { barrier: string }, id?: string): Promise<void> {
    const { bus, topic } = this.#settings;
    const payload = JSON.parse(JSON.stringify({ origin: this.#origin, ...content }));
    await bus.publish({ topic, payload, id });
  }

  async #take({ payload }: Message): Promise<void> {
    const shared = payload as { origin: string; entry?: Entry; barrier?: string };
    if (shared.barrier !== undefined) this.#barriers.get(shared.barrier)?.();
    else if (shared.entry !== undefined)
      await this.#settings.onEntry(shared.entry, shared.origin === this.#origin);
  }
}
