import { randomUUID } from 'node:crypto';
import { type Bus, BusError, type Message, type Subscription } from '@trunkline/bus';
import type { WrittenFile } from '../control/control-plane.ts';
import { holdsSecrets } from '../control/redact.ts';
import type { Seal } from '../control/seal.ts';
import type { Plugin, PluginContext } from '../core/plugins.ts';
import { type EditedFile, followHandEdits } from './hand-edits.ts';
import { nodeName } from './leader.ts';
import type { SealExchange } from './seal-exchange.ts';

const catchUpLimitMs = 30_000;

const topic = 'config.files';

/** A written file; its text is sealed if it can hold credentials. */
type SharedFile = Omit<ReplicatedFile, 'text'> & ({ text: string | null } | { sealed: string });

type ReplicatedFile = WrittenFile | (EditedFile & Pick<WrittenFile, 'change'>);

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
      await log.share(this.#shared(written));
    };
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
  const { kind, name, file, text, by, change } = written;
  const { controlPlane, logger } = context;
  if ((await controlPlane.read(kind, name)) === text) return;
  const note = { actor: by, ...(change === undefined ? { quiet: true } : { shared: change }) };
  try {
    if (text === null) await controlPlane.remove(kind, name, note);
    else await controlPlane.writeText(kind, name, text, note);
  } catch (error) {
    // A retry would not help, and later entries must not wait.
    logger.error({ err: error, file }, 'failed to apply change of another switchboard');
  }
}

interface SharedLogSettings<Entry> {
  bus: Bus;
  topic: string;
  durable: string;
  /** Called for every entry, own ones included, in the same order everywhere. */
  onEntry: (entry: Entry, isOwn: boolean) => void | Promise<void>;
}

/** A log shared by all switchboards on the bus; each reads on from where it stopped. */
export class SharedLog<Entry extends object> {
  readonly #settings: SharedLogSettings<Entry>;
  readonly #origin = randomUUID();
  readonly #barriers = new Map<string, () => void>();
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
    await this.#subscription?.unsubscribe();
  }

  /** Resolves when the entry is in the journal. */
  async share(entry: Entry): Promise<void> {
    await this.#publish({ entry });
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

  async #publish(content: { entry: Entry } | { barrier: string }): Promise<void> {
    const { bus, topic } = this.#settings;
    await bus.publish({ topic, payload: JSON.parse(JSON.stringify({ origin: this.#origin, ...content })) });
  }

  async #take({ payload }: Message): Promise<void> {
    const shared = payload as { origin: string; entry?: Entry; barrier?: string };
    if (shared.barrier !== undefined) this.#barriers.get(shared.barrier)?.();
    else if (shared.entry !== undefined)
      await this.#settings.onEntry(shared.entry, shared.origin === this.#origin);
  }
}
