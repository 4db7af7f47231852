import { randomUUID } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { type Bus, BusError, type Draft, type Message, type Subscription } from '@trunkline/bus';
import type { Logger } from '@trunkline/config';
import { ControlPlaneError, type WrittenFile } from '../control/control-plane.ts';
import { holdsSecrets } from '../control/redact.ts';
import type { Seal } from '../control/seal.ts';
import type { Plugin, PluginContext } from '../core/plugins.ts';
import { incidentsText, readIncidents, withIncident } from '../incidents/incident-file.ts';
import { differs, type EditedFile, followHandEdits, reportKept, type SharedHome } from './hand-edits.ts';
import { nodeName } from './leader.ts';
import type { SealExchange } from './seal-exchange.ts';
import { fileDigest } from './shared-files.ts';

const catchUpLimitMs = 30_000;

const topic = 'config.files';

/** Of a log: entries that wait for the journal to come back, and how long until they are tried again. */
const mostUnsent = 1000;
const sendAgainMs = 2000;

/** A written file; its text is sealed if it can hold credentials. */
type SharedFile = Omit<ReplicatedFile, 'text'> & ({ text: string | null } | { sealed: string });

type ReplicatedFile = WrittenFile | (EditedFile & Pick<WrittenFile, 'about'>);

type HandEdits = Awaited<ReturnType<typeof followHandEdits>>;

export interface Sealing {
  seal: Pick<Seal, 'seal'>;
  exchange: Pick<SealExchange, 'open'>;
}

/** On a shared bus, writes each command's change, and each edit by hand, into every workspace; changes are listed there too. */
export class WorkspaceReplica implements Plugin {
  readonly name = 'workspace-replica';
  readonly description = 'Keeps the files of the workspace alike on all switchboards of a bus.';
  #log: SharedLog<SharedFile> | undefined;
  /** Entries that others changed after the last change made here. */
  readonly #overwritten = new Set<string>();
  #forget: () => void = () => undefined;
  #edits: HandEdits | undefined;
  readonly #sealing: Sealing;
  readonly #home: SharedHome | undefined;
  #isStopped = false;

  /** `home` is missing where nobody shares the bus. */
  constructor(sealing: Sealing, home?: SharedHome) {
    this.#sealing = sealing;
    this.#home = home;
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
    const restore = (edited: EditedFile) => write(edited, context, edits);
    const edits = await followHandEdits(context, this.#home, { onEdit: share, restore });
    this.#edits = edits;
    try {
      await this.#noteIncidents(controlPlane);
      // Last: what others edited while this switchboard was stopped comes at once.
      await log.start();
    } catch (error) {
      await edits.stop();
      throw error;
    }
    this.#log = log;
    this.#forget = controlPlane.onWrite(share);
    void this.#shareEdited(log, edits, context);
  }

  /** As it is at the start the others have it, unless it was edited meanwhile: an edit is shared whole. */
  async #noteIncidents(controlPlane: PluginContext['controlPlane']): Promise<void> {
    const entry = { kind: 'incidents', name: 'incidents' } as const;
    try {
      const text = await controlPlane.read(entry.kind, entry.name);
      const known = this.#home?.files.digest(entry.kind, entry.name);
      const isEdited = text !== null && known !== undefined && known !== fileDigest(entry, text);
      if (!isEdited) await controlPlane.noteEdit(entry.kind, entry.name, async () => undefined);
    } catch (error) {
      // A pipe, a socket or a device: the workspace itself reports it.
      if (!(error instanceof ControlPlaneError)) throw error;
    }
  }

  /** What others changed meanwhile comes first; what stood here then is kept aside. */
  async #shareEdited(log: SharedLog<SharedFile>, edits: HandEdits, { logger }: PluginContext): Promise<void> {
    for (;;) {
      try {
        await log.catchUp();
        if (this.#isStopped) return;
        return await edits.shareEdited();
      } catch (error) {
        if (this.#isStopped) return;
        logger.warn(
          { err: error },
          'failed to look for files that were edited while the switchboard was stopped',
        );
        await delay(sendAgainMs, undefined, { ref: false });
      }
      if (this.#isStopped) return;
    }
  }

  async stop(): Promise<void> {
    this.#isStopped = true;
    this.#forget();
    await this.#edits?.stop();
    await this.#log?.stop();
  }

  /** For files that a plugin follows itself, as those of `crons/`: shares one that was edited by hand. */
  noteSave(path: string): void {
    this.#edits?.noteSave(path);
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
    await write({ ...whole, ...(isOwn && withoutNotes) }, context, edits);
  }

  #shared(written: ReplicatedFile): SharedFile {
    if (!holdsSecrets(written.kind)) return written;
    const { seal } = this.#sealing;
    const { text, ...rest } = written;
    const { replaced } = rest;
    return {
      ...rest,
      ...(typeof replaced === 'string' && { replaced: seal.seal(replaced, replacedIn(written)) }),
      ...(text === null ? { text } : { sealed: seal.seal(text, entryOf(written)) }),
    };
  }

  /** Undefined when it cannot be opened: later entries must not wait for it. */
  async #opened(file: SharedFile, { logger }: PluginContext): Promise<ReplicatedFile | undefined> {
    const { exchange } = this.#sealing;
    try {
      const { replaced } = file;
      const isSealed = typeof replaced === 'string' && replaced.includes('.');
      const known = isSealed ? { replaced: await exchange.open(replaced, replacedIn(file)) } : {};
      if ('text' in file) return { ...file, ...known };
      const { sealed, ...rest } = file;
      return { ...rest, ...known, text: await exchange.open(sealed, entryOf(file)) };
    } catch (error) {
      logger.error(
        { err: error, file: file.file },
        'failed to open a file of another switchboard; save it there again',
      );
      // One that is removed there must not stay: it may be a key.
      return 'text' in file ? { ...file, replaced: undefined } : undefined;
    }
  }
}

/** File names of an entry may differ between switchboards. */
function entryOf({ kind, name }: Pick<ReplicatedFile, 'kind' | 'name'>): string {
  return `${kind}/${name}`;
}

/** What the digest of what an edit replaced is sealed for. */
function replacedIn(entry: Pick<ReplicatedFile, 'kind' | 'name'>): string {
  return `${entryOf(entry)} replaced`;
}

type AppliedFile = WrittenFile & Pick<EditedFile, 'isLate'>;

/** For an own file that is applied again: its change is listed, and what it replaced is known. */
const withoutNotes = { change: undefined, replaced: undefined, isLate: undefined };

/** Writes a file as the others have it. */
async function write(file: ReplicatedFile, context: PluginContext, edits: HandEdits): Promise<void> {
  if (file.kind === 'file') await edits.take(file as EditedFile);
  else await apply(file as AppliedFile, context);
}

async function apply(written: AppliedFile, context: PluginContext): Promise<void> {
  const { kind, name, file, text, by, change, about } = written;
  const { controlPlane, logger } = context;
  const keep = () => controlPlane.keepAside(kind, name, (standing) => differs(written, standing));
  let kept: Draft | undefined;
  try {
    const standing = await controlPlane.read(kind, name);
    const known = change === undefined ? { quiet: true } : { shared: change };
    const note = { actor: by, ...known, ...(about !== undefined && { about }) };
    if (standing === text) return controlPlane.noteShared(kind, name, text, note);
    if (text === null) {
      kept = await keep();
      await controlPlane.remove(kind, name, note);
    } else {
      controlPlane.check(kind, name, text);
      const replace = async (standing: string | null) => {
        kept = await keep();
        return kept === undefined ? merged(written, text, standing) : text;
      };
      await controlPlane.update(kind, name, replace, note);
    }
    if (kept !== undefined) await reportKept(kept, context);
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
