import { existsSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { basename, dirname, join, relative } from 'node:path';
import { BusError } from '@trunkline/bus';
import { ConfigError, parseYaml, readPlainFile, watchYaml } from '@trunkline/config';
import { Mutex } from '@trunkline/std';
import { writeFileAtomic } from '@trunkline/storage';
import { z } from 'zod';
import { keysSchema } from '../access/keys.ts';
import type { PluginContext } from '../core/plugins.ts';
import { entryIn, spellingsOf } from '../workspace/follow.ts';
import { type Kind, type KindName, kinds } from '../workspace/kinds.ts';
import { privateMode } from '../workspace/restrict.ts';

/** Files that no command writes. They may hold credentials. */
const plainFiles: readonly string[] = ['agents.yaml', 'keys.yaml', 'approvers.yaml', 'channels.yaml'];
const keysFile = 'keys.yaml';
/** When an edit that the bus did not take is shared again. */
const retryMs = 2000;
/** Within this time a workspace sees a file that another switchboard wrote, however slow its machine is. */
const unseenMs = 60_000;
const passing: readonly string[] = ['unavailable', 'overloaded', 'request_timeout', 'journal_full'];

/** A file of the workspace that somebody has edited; null text: removed. `file` is the kind of one that no command writes. */
export interface EditedFile {
  kind: KindName | 'file';
  name: string;
  file: string;
  text: string | null;
  by: string;
}

type Context = Pick<PluginContext, 'workspace' | 'controlPlane' | 'logger'>;

/** Calls back with each valid edit that was made by hand since the start; gives what takes over those of others. */
export async function followHandEdits(context: Context, onEdit: (edited: EditedFile) => Promise<void>) {
  const { workspace, controlPlane, logger } = context;
  /** What each plain file holds for all that is known here. */
  const known = new Map<string, string | null>();
  const readPlain = (name: string) => readOrNull(join(workspace.directory, name));
  for (const name of plainFiles) {
    const text = await readPlain(name).catch((error: unknown) => {
      // A pipe, a socket or a device: the service itself reports it.
      if (error instanceof ConfigError) return null;
      throw error;
    });
    known.set(name, text);
  }

  const plain = new Mutex();
  const by = 'edited by hand';
  let isStopped = false;

  async function look(path: string): Promise<void> {
    const file = relative(workspace.directory, path);
    if (plainFiles.includes(file)) return await plain.run(() => lookAtPlain(file));
    const entry = entryOf(file);
    if (entry === undefined) return;
    const { kind, name } = entry;
    await controlPlane.noteEdit(kind, name, (text) => onEdit({ kind, name, file, text, by }));
  }

  async function lookAtPlain(name: string): Promise<void> {
    const text = await readPlain(name);
    if (known.get(name) === text) return;
    // The service goes on with its last good keys; with others, no switchboard could be started again.
    const schema = name === keysFile ? keysSchema : z.unknown();
    if (text !== null) parseYaml(text, schema, { file: name, expand: false });
    await onEdit({ kind: 'file', name, file: name, text, by });
    known.set(name, text);
  }

  async function writePlain(name: string, text: string | null): Promise<void> {
    const target = join(workspace.directory, name);
    if (text === null) await rm(target, { force: true });
    else if ((await readPlain(name)) !== text) await writeFileAtomic(target, text, { mode: privateMode });
    known.set(name, text);
  }

  const retries = new Map<string, NodeJS.Timeout>();
  const retryLater = (path: string, retry: () => void = () => heed(path)) => {
    clearTimeout(retries.get(path));
    retries.set(path, setTimeout(retry, retryMs).unref());
  };
  /** One that is removed before the workspace has seen it is no change there. */
  const lookForRemoval = (path: string, until = Date.now() + unseenMs) =>
    retryLater(path, () => {
      if (!existsSync(path)) heed(path);
      else if (Date.now() < until) lookForRemoval(path, until);
    });
  const heed = (path: string) =>
    void look(path).catch((error: unknown) => {
      const isRetried = error instanceof BusError && passing.includes(error.code);
      const words = isRetried ? 'failed to share an edited file; retrying' : 'failed to share an edited file';
      logger.error({ err: error, file: path }, words);
      // With the text that it has by then.
      if (isRetried && !isStopped) retryLater(path);
    });
  const forget = workspace.onChange(heed);
  const path = join(workspace.directory, keysFile);
  const keys = await watchYaml(path, z.unknown(), {
    allowMissing: true,
    expand: false,
    onChange: () => heed(path),
    // The service itself reports what is wrong with the file.
    onError: () => undefined,
  });

  return {
    /** Writes a file that no command writes as another switchboard has it. */
    async take({ name, text }: EditedFile): Promise<void> {
      if (!plainFiles.includes(name)) return;
      try {
        await plain.run(() => writePlain(name, text));
        const written = join(workspace.directory, name);
        if (text !== null && !isStopped) lookForRemoval(written);
      } catch (error) {
        // Such as a file that is mounted read-only: a retry would not help, and later entries must not wait.
        logger.error(
          { err: error, file: name },
          'failed to write a file that was edited at another switchboard',
        );
      }
    },
    async stop(): Promise<void> {
      isStopped = true;
      for (const retry of retries.values()) clearTimeout(retry);
      forget();
      await keys.close();
    },
  };
}

/** The entry that a path in the workspace holds. Schedules are not among them: they have files that are written at each run. */
function entryOf(file: string): { kind: KindName; name: string } | undefined {
  for (const [kind, place] of Object.entries(kinds) as [KindName, Kind][]) {
    if (kind === 'cron') continue;
    if ('file' in place) {
      if (spellingsOf(place.file).includes(file)) return { kind, name: kind };
    } else if (dirname(file) === place.folder) {
      const name = entryIn(basename(file));
      if (name !== undefined) return { kind, name };
    }
  }
  return undefined;
}

async function readOrNull(path: string): Promise<string | null> {
  try {
    return (await readPlainFile(path)).toString('utf8');
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return null;
    throw error;
  }
}
