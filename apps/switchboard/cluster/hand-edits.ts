import { randomUUID } from 'node:crypto';
import { existsSync, readdirSync } from 'node:fs';
import { rm, stat } from 'node:fs/promises';
import { basename, dirname, join, relative } from 'node:path';
import { BusError, type Draft } from '@trunkline/bus';
import { ConfigError, parseYaml, readPlainFile, watchYaml } from '@trunkline/config';
import { Mutex } from '@trunkline/std';
import { writeFileAtomic } from '@trunkline/storage';
import { z } from 'zod';
import { keysSchema } from '../access/keys.ts';
import type { ChangeStore } from '../control/change-store.ts';
import { type SharedChange, sharedOf } from '../control/control-plane.ts';
import { keepAside } from '../control/keep-aside.ts';
import type { PluginContext } from '../core/plugins.ts';
import { entryIn, spellingsOf, standingFile } from '../workspace/follow.ts';
import { type Kind, type KindName, kinds } from '../workspace/kinds.ts';
import { privateMode } from '../workspace/restrict.ts';
import { type FileEntry, fileDigest, type SharedFiles } from './shared-files.ts';

/** Files that no command writes. They may hold credentials. */
const plainFiles: readonly string[] = ['agents.yaml', 'keys.yaml', 'approvers.yaml', 'channels.yaml'];
const keysFile = 'keys.yaml';
/** When an edit that the bus did not take is shared again. */
const retryMs = 2000;
/** Within this time a workspace sees a file that another switchboard wrote, however slow its machine is. */
const unseenMs = 60_000;
const passing: readonly string[] = ['unavailable', 'overloaded', 'request_timeout', 'journal_full'];

/** A file of the workspace that somebody has edited; null text: removed. `file` is the kind of one that no command writes. */
export interface EditedFile extends FileEntry {
  file: string;
  text: string | null;
  by: string;
  /** The digest of what the edit replaced, null if there was nothing. Missing if it is not known. */
  replaced?: string | null | undefined;
  /** It was made while its switchboard was stopped and may be an old copy: what it replaces is kept aside in any case. */
  isLate?: boolean | undefined;
  change?: SharedChange | undefined;
}

/** What a home knows of the files that the switchboards share. */
export interface SharedHome {
  files: SharedFiles;
  changes: Pick<ChangeStore, 'add' | 'drop'>;
}

type Context = Pick<PluginContext, 'workspace' | 'controlPlane' | 'logger' | 'bus'>;

/** Calls back with each valid edit that was made by hand; gives what takes over those of others. */
export async function followHandEdits(
  context: Context,
  sharedHome: SharedHome | undefined,
  /** `restore` writes what the others have, as if one of them had saved it. */
  { onEdit, restore }: Record<'onEdit' | 'restore', (edited: EditedFile) => Promise<void>>,
) {
  const shared = sharedHome?.files;
  const { workspace, controlPlane, logger, bus } = context;
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

  async function look(path: string, isLate: boolean): Promise<void> {
    const file = relative(workspace.directory, path);
    const share = isLate ? shareLate : onEdit;
    if (plainFiles.includes(file)) return await plain.run(() => lookAtPlain(file, share));
    const entry = entryOf(file);
    if (entry === undefined) return;
    const { kind, name } = entry;
    await controlPlane.noteEdit(kind, name, async (text, replaced) => {
      await refuseBlank(file, text);
      // It may be another by now than the one that was found valid.
      if (text !== null) controlPlane.check(kind, name, text);
      await share({ kind, name, file, text, by, replaced });
    });
  }

  const report = (error: string) =>
    bus.publish({ topic: 'system.error', payload: { source: 'workspace', plugin: 'cluster', error } });

  /** After a power loss a file may be blank; and a blank `keys.yaml` would remove all keys everywhere. */
  async function refuseBlank(file: string, text: string | null): Promise<void> {
    if (text === null || !isBlank(text)) return;
    const words = `${file} is blank and not shared; the others keep theirs. To remove it everywhere, remove the file.`;
    await report(words);
    throw new Error(words);
  }

  /** Lists it as a change, here and at the others. */
  async function shareLate(edited: EditedFile): Promise<void> {
    const { kind, name, file, text } = edited;
    const reason = 'edited while the switchboard was stopped';
    const listed = { at: Date.now(), by, reason, messageId: randomUUID(), topic: 'registrar', undoes: null };
    const before = shared?.text(kind, name) ?? null;
    const change = sharedHome?.changes.add({ ...listed, kind, name, file, before, after: text });
    if (change === undefined) return;
    try {
      await onEdit({ ...edited, isLate: true, change: sharedOf(change) });
    } catch (error) {
      sharedHome?.changes.drop(change.id);
      throw error;
    }
  }

  async function lookAtPlain(name: string, share: typeof onEdit): Promise<void> {
    const text = await readPlain(name);
    if (known.get(name) === text) return;
    await refuseBlank(name, text);
    // The service goes on with its last good keys; with others, no switchboard could be started again.
    const schema = name === keysFile ? keysSchema : z.unknown();
    if (text !== null) parseYaml(text, schema, { file: name, expand: false });
    await share({ kind: 'file', name, file: name, text, by, replaced: shared?.digest('file', name) });
    notePlain(name, text);
  }

  function notePlain(name: string, text: string | null): void {
    known.set(name, text);
    shared?.note('file', name, text);
  }

  async function writePlain(edited: EditedFile): Promise<void> {
    const { name, text } = edited;
    const standing = await readPlain(name);
    if (standing !== text) {
      const { directory } = workspace;
      const isKept = standing !== null && differs(edited, standing);
      const aside = { directory, file: name, text: standing ?? '', kind: 'file', mode: privateMode };
      const kept = isKept ? await keepAside(aside) : undefined;
      const target = join(directory, name);
      if (text === null) await rm(target, { force: true });
      else await writeFileAtomic(target, text, { mode: privateMode });
      noteTaken(edited, standing);
      if (kept !== undefined) await reportKept(kept, { logger, bus });
    } else noteTaken(edited, standing);
  }

  function noteTaken({ change, kind, name, file, text, by }: EditedFile, before: string | null): void {
    if (change !== undefined)
      sharedHome?.changes.add({ ...change, by, kind, name, file, before, after: text });
    notePlain(name, text);
  }

  /** Of a workspace that was never shared, or is another: what stands in it counts as what the others have. */
  async function begin(): Promise<void> {
    if (shared === undefined) return;
    const { directory } = workspace;
    const before = new Set(shared.isOf(directory) ? shared.entries().map(idOf) : []);
    const files = filesIn(directory);
    if (files.some((file) => before.has(idOf(file)))) return;
    if (before.size > 0)
      logger.warn(
        { directory },
        'workspace has none of the files that it shared; nothing is removed elsewhere',
      );
    const texts: (FileEntry & { text: string })[] = [];
    for (const { path, ...entry } of files) {
      const text = await textAt(path);
      if (text !== undefined) texts.push({ ...entry, text });
    }
    shared.begin(directory, texts);
  }

  /**
   * Shares what was edited while the switchboard was stopped; an older file, such as one of a backup, gives way to what the
   * others have. A missing or blank file may be a fault of the disk: it is only named.
   */
  async function shareEdited(): Promise<void> {
    if (shared === undefined) return;
    const gone = new Set(shared.entries().map(idOf));
    for (const { path, ...entry } of filesIn(workspace.directory)) {
      const { kind, name } = entry;
      const text = await textAt(path);
      const isShared = text === undefined || fileDigest(entry, text) === shared.digest(kind, name);
      if (isShared || !isBlank(text)) gone.delete(idOf(entry));
      if (isShared || isBlank(text)) continue;
      if (shared.isOlder(entry, text, (await stat(path)).mtimeMs)) {
        logger.warn({ file: path }, 'file is older than the one that the switchboards share; replacing it');
        const file = relative(workspace.directory, path);
        const theirs = { text: shared.text(kind, name), by: 'another switchboard' };
        await restore({ kind, name, file, ...theirs, isLate: true });
        continue;
      }
      logger.info({ file: path }, 'sharing a file that was edited while the switchboard was stopped');
      if (kind === 'file') known.delete(name);
      heed(path, true);
    }
    if (gone.size === 0) return;
    const files = [...gone].join(', ');
    logger.warn(
      { files },
      'files were removed while the switchboard was stopped, or are blank; the others still have them',
    );
    const error = `Removed while this switchboard was stopped, or blank, and still at the others: ${files}. To remove one everywhere, save and remove it while the switchboard runs; to have it back, save it at another.`;
    await report(error);
  }

  const retries = new Map<string, NodeJS.Timeout>();
  const retryLater = (path: string, retry: () => void) => {
    clearTimeout(retries.get(path));
    retries.set(path, setTimeout(retry, retryMs).unref());
  };
  /** One that is removed before the workspace has seen it is no change there. */
  const lookForRemoval = (path: string, until = Date.now() + unseenMs) =>
    retryLater(path, () => {
      if (!existsSync(path)) heed(path);
      else if (Date.now() < until) lookForRemoval(path, until);
    });
  const heed = (path: string, isLate = false) =>
    void look(path, isLate).catch((error: unknown) => {
      const isRetried = error instanceof BusError && passing.includes(error.code);
      const words = isRetried ? 'failed to share an edited file; retrying' : 'failed to share an edited file';
      logger.error({ err: error, file: path }, words);
      // With the text that it has by then.
      if (isRetried && !isStopped) retryLater(path, () => heed(path, isLate));
    });
  // Before anything is watched: an edit that is noticed meanwhile must not be taken for what the others have.
  await begin();
  const path = join(workspace.directory, keysFile);
  const keys = await watchYaml(path, z.unknown(), {
    allowMissing: true,
    expand: false,
    onChange: () => heed(path),
    // The service itself reports what is wrong with the file.
    onError: () => undefined,
  });
  const forget = workspace.onChange((changed) => heed(changed));
  return {
    noteSave: (saved: string) => heed(saved),
    shareEdited,
    /** Writes a file that no command writes as another switchboard has it. */
    async take(edited: EditedFile): Promise<void> {
      const { name, text } = edited;
      if (!plainFiles.includes(name)) return;
      try {
        await plain.run(() => writePlain(edited));
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

/**
 * Whether what stands here is neither what the edit replaced at its switchboard nor what it brings: homes may have had
 * different files under one name, and two people may edit one at once.
 */
export function differs(
  edited: Pick<EditedFile, 'kind' | 'name' | 'text' | 'replaced' | 'isLate'>,
  standing: string,
): boolean {
  const { text, replaced, isLate } = edited;
  if (replaced === undefined && isLate !== true) return false;
  const expected = [text === null ? null : fileDigest(edited, text), isLate === true ? null : replaced];
  return !expected.includes(fileDigest(edited, standing));
}

/** Says that a file was kept aside. That it cannot be published is logged: the file is written. */
export async function reportKept(
  kept: Draft,
  { logger, bus }: Pick<Context, 'logger' | 'bus'>,
): Promise<void> {
  logger.warn({ kept: kept.payload }, 'kept a file aside that another switchboard replaced');
  try {
    await bus.publish(kept);
  } catch (error) {
    logger.error({ err: error }, 'failed to publish that a file was kept aside');
  }
}

function isBlank(text: string): boolean {
  return text.trim() === '';
}

function idOf({ kind, name }: FileEntry): string {
  return `${kind}/${name}`;
}

const folders = Object.values<Kind>(kinds).flatMap((kind) => ('folder' in kind ? [kind.folder] : []));

/** The files of a workspace that are shared. */
function filesIn(directory: string): (FileEntry & { path: string })[] {
  const names = ['.', ...folders].flatMap((folder) => {
    const path = join(directory, folder);
    try {
      return readdirSync(path).map((name) => join(folder, name));
    } catch {
      // Missing, unreadable or no folder: the workspace itself reports it.
      return [];
    }
  });
  return names.flatMap((file) => {
    const entry = plainFiles.includes(file) ? { kind: 'file' as const, name: file } : entryOf(file);
    const isUsed = entry?.kind === 'file' || standingFile(directory, file) === file;
    return entry !== undefined && isUsed ? [{ ...entry, path: join(directory, file) }] : [];
  });
}

/** Undefined for what cannot be read, which the workspace itself reports. */
async function textAt(path: string): Promise<string | undefined> {
  return (await readOrNull(path).catch(() => null)) ?? undefined;
}

/** The entry that a path in the workspace holds. */
function entryOf(file: string): { kind: KindName; name: string } | undefined {
  for (const [kind, place] of Object.entries(kinds) as [KindName, Kind][]) {
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
