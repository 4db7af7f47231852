import type { WrittenFile } from '../control/registrar.ts';
import type { Plugin, PluginContext } from '../core/plugin.ts';
import { nodeName } from './node-name.ts';
import { SharedLog } from './shared-log.ts';

const topic = 'config.files';

/** With one bus for several switchboards: what a command writes into one workspace is written into all. */
export class WorkspaceReplica implements Plugin {
  readonly name = 'workspace-replica';
  #log: SharedLog<WrittenFile> | undefined;
  /** Entries that others changed after the last change made here. */
  readonly #overwritten = new Set<string>();
  #forget: () => void = () => undefined;

  async start(context: PluginContext): Promise<void> {
    const { bus, registrar, home } = context;
    if (bus.status().engine === 'embedded') return;
    const durable = `files-${await nodeName(home)}`;
    const onEntry = (file: WrittenFile, isOwn: boolean) => this.#take(file, isOwn, context);
    const log = new SharedLog<WrittenFile>({ bus, topic, durable, onEntry });
    await log.start();
    this.#forget = registrar.onWrite(async (written) => {
      this.#overwritten.delete(entryOf(written));
      await log.share(written);
    });
    this.#log = log;
  }

  async stop(): Promise<void> {
    this.#forget();
    await this.#log?.stop();
  }

  /** Resolves when all changes made so far are in this workspace. */
  async catchUp(): Promise<void> {
    await this.#log?.catchUp();
  }

  /** Entries come in the same order everywhere, so that all workspaces end alike: an own change that was overwritten is made again. */
  async #take(file: WrittenFile, isOwn: boolean, context: PluginContext): Promise<void> {
    if (!isOwn) this.#overwritten.add(entryOf(file));
    else if (!this.#overwritten.delete(entryOf(file))) return;
    await apply(file, context);
  }
}

/** Each switchboard may call the file of an entry differently. */
function entryOf({ kind, name }: WrittenFile): string {
  return `${kind}/${name}`;
}

async function apply({ kind, name, file, text, by }: WrittenFile, context: PluginContext): Promise<void> {
  const { registrar, logger } = context;
  if ((await registrar.read(kind, name)) === text) return;
  const note = { actor: by, quiet: true };
  try {
    if (text === null) await registrar.remove(kind, name, note);
    else await registrar.writeText(kind, name, text, note);
  } catch (error) {
    // Trying again would not help, and what comes after must not wait.
    logger.error({ err: error, file }, 'a change made at another switchboard could not be taken over');
  }
}
