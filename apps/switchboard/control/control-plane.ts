import { randomUUID } from 'node:crypto';
import { rm } from 'node:fs/promises';
import type { Draft } from '@trunkline/bus';
import { ConfigError, type Environment, parseYaml, readPlainFile } from '@trunkline/config';
import { errorMessage, Mutex } from '@trunkline/std';
import { resolveInside, StorageError, writeFileAtomic } from '@trunkline/storage';
import { stringify } from 'yaml';
import type { Change } from '../api-types.ts';
import { standingFile, standsTwice, twiceWords } from '../workspace/follow.ts';
import { type Kind, type KindName, kinds } from '../workspace/kinds.ts';
import { privateMode } from '../workspace/restrict.ts';
import { entryName, scheduleId } from '../workspace/schema/names.ts';
import { type ChangeStore, canUndo, undoRefusal } from './change-store.ts';
import { keepAside } from './keep-aside.ts';
import { holdsSecrets } from './redact.ts';

export const controlPlaneErrorCodes = [
  'name_refused',
  'record_refused',
  'entry_unknown',
  'entry_twice',
  'change_unknown',
  'change_overtaken',
] as const;

export interface ControlPlaneSettings {
  directory: string;
  changes: ChangeStore;
  env: Environment;
  /** Where other switchboards share the bus. */
  shared?: SharedTexts | undefined;
}

/** What the others have of each entry. */
export interface SharedTexts {
  note(kind: KindName, name: string, text: string | null): void;
  /** Null if they have none. */
  digest(kind: KindName, name: string): string | null;
}

/** Who made a change, and why. */
export interface ChangeNote {
  actor: string;
  /** Who asked for it, as `ownerKey` names them; the operator when left out. */
  owner?: string | undefined;
  reason?: string;
  /** Not listed as a change: bookkeeping such as when a schedule fired last. */
  quiet?: boolean;
  /** A redelivered command is one change. */
  command?: { id: string; topic: string };
  /** The change was made at another switchboard, which has told the others. */
  shared?: SharedChange;
  /** The id of the incident that alone is changed; others add it to theirs, in any order. */
  about?: string;
}

/** What makes a change the same one at every switchboard. */
export type SharedChange = Pick<Change, 'id' | 'at' | 'reason' | 'messageId' | 'topic' | 'undoes'>;

interface Order {
  kind: KindName;
  name: string;
  text: string | null;
  note: ChangeNote;
  undoes?: number;
  /** The name of a file that does not exist yet; default: as new files are named. */
  file?: string;
  /** The text that was edited, null if there was no file: the change is refused if the file holds another by now. */
  over?: string | null;
}

/** Null text: the file was removed. */
export interface WrittenFile {
  kind: KindName;
  name: string;
  /** Its path inside the workspace. */
  file: string;
  text: string | null;
  by: string;
  /** Missing in what older versions share. */
  change?: SharedChange | undefined;
  /** The digest of what the others had, null if they had none. Missing if it is not known. */
  replaced?: string | null | undefined;
  about?: string | undefined;
}

/** The only writer of the workspace: checks every change, writes it atomically, and records what was there before. */
export class ControlPlane {
  readonly #settings: ControlPlaneSettings;
  readonly #listeners = new Set<(written: WrittenFile) => Promise<void>>();
  readonly #writes = new Mutex();
  /** The last text of each entry that was written here or taken note of. */
  readonly #written = new Map<string, string | null>();

  constructor(settings: ControlPlaneSettings) {
    this.#settings = settings;
  }

  /** Calls back after every change, before it is answered; returns a function that stops it. */
  onWrite(listener: (written: WrittenFile) => Promise<void>): () => void {
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  }

  /** Adds or replaces an entry. A kind that is one file (`incidents`) has the kind as its name. */
  write(kind: KindName, name: string, record: unknown, note: ChangeNote): Promise<Change> {
    return this.writeText(kind, name, stringify(record), note);
  }

  /** As `write`, with the text of the file, comments included. */
  writeText(kind: KindName, name: string, text: string, note: ChangeNote): Promise<Change> {
    return this.#writes.run(() => this.#carryOut({ kind, name, text, note }));
  }

  /** As `writeText`, unless the file was changed or removed meanwhile. */
  editText(
    kind: KindName,
    name: string,
    { from, to }: { from: string; to: string },
    note: ChangeNote,
  ): Promise<Change> {
    return this.#writes.run(() => this.#carryOut({ kind, name, text: to, note, over: from }));
  }

  /** As `writeText`, made from what the file holds: nothing is written in between, nor where that stays the same. */
  async update(
    kind: KindName,
    name: string,
    change: (text: string | null) => Promise<string>,
    note: ChangeNote,
  ): Promise<void> {
    await this.#writes.run(async () => {
      const before = await this.read(kind, name);
      const text = await change(before);
      if (text !== before) await this.#carryOut({ kind, name, text, note });
    });
  }

  /**
   * Copies a file that cannot be read, or that differs from what another switchboard knew, to one beside it, before
   * another text replaces it; gives the message that says so.
   */
  async keepAside(
    kind: KindName,
    name: string,
    differs: (text: string) => boolean = () => false,
  ): Promise<Draft | undefined> {
    const text = await this.read(kind, name);
    if (text === null) return undefined;
    const refusal = this.refusalOf(kind, name, text);
    const isBroken = refusal?.code === 'record_refused';
    if (!isBroken && !differs(text)) return undefined;
    return await keepAside({
      directory: this.#settings.directory,
      file: this.fileOf(kind, name),
      text,
      kind,
      ...modeOf(kind),
      ...(isBroken && { problem: refusal.message }),
    });
  }

  /** Whether the entry has a text that was written here, or taken note of, since the start. */
  hasWritten(kind: KindName, name: string): boolean {
    return typeof this.#written.get(`${kind}/${name}`) === 'string';
  }

  /**
   * Calls back if an entry holds another text than was written here last: somebody has edited its file. `replaced` is the
   * digest of what the others have.
   */
  noteEdit(
    kind: KindName,
    name: string,
    onEdit: (text: string | null, replaced: string | null | undefined) => Promise<void>,
  ): Promise<void> {
    // Not between the note of a change and its file.
    return this.#writes.run(async () => {
      const text = await this.read(kind, name);
      if (this.#written.get(`${kind}/${name}`) === text) return;
      await onEdit(text, this.#settings.shared?.digest(kind, name));
      this.noteShared(kind, name, text);
    });
  }

  /** Others have this text of an entry; lists the change of another that brings it once more. */
  noteShared(kind: KindName, name: string, text: string | null, note?: ChangeNote): void {
    if (note !== undefined) this.#note({ kind, name, text, note }, this.fileOf(kind, name), text);
    this.#written.set(`${kind}/${name}`, text);
    this.#settings.shared?.note(kind, name, text);
  }

  async read(kind: KindName, name: string): Promise<string | null> {
    return await this.#current(this.fileOf(kind, name));
  }

  /** The path of an entry's file in the workspace, existing or new. */
  fileOf(kind: KindName, name: string): string {
    return standingFile(this.#settings.directory, fileOf(kind, name));
  }

  check(kind: KindName, name: string, text: string): void {
    this.#check({ kind, name, text }, this.fileOf(kind, name));
  }

  /** Undefined when the text would be accepted. */
  refusalOf(kind: KindName, name: string, text: string): ControlPlaneError | undefined {
    try {
      const file = this.fileOf(kind, name);
      if (standsTwice(this.#settings.directory, file)) throw twice(file);
      this.#check({ kind, name, text }, file);
      return undefined;
    } catch (error) {
      if (error instanceof ControlPlaneError) return error;
      throw error;
    }
  }

  /** Returns whether it existed. With `over`, refuses if the file holds another text by now (null: if there is one). */
  remove(kind: KindName, name: string, note: ChangeNote, over?: string | null): Promise<boolean> {
    return this.#writes.run(async () => {
      const order = { kind, name, text: null, note, ...(over !== undefined && { over }) };
      return (await this.#carryOut(order)).before !== null;
    });
  }

  /** Restores what was there before a change, unless the file was changed since; `messageId` makes sure which is meant. */
  undo(id: number, note: ChangeNote, messageId?: string): Promise<Change> {
    return this.#writes.run(async () => {
      const change = this.#settings.changes.get(id);
      const isMeant = messageId === undefined || change?.messageId === messageId;
      if (change === undefined || !isMeant)
        throw new ControlPlaneError('change_unknown', `There is no change ${id} that could be undone.`);
      const { file, name, before, after } = change;
      if (!canUndo(change)) throw new ControlPlaneError('record_refused', undoRefusal(change));
      const kind = change.kind as KindName;
      if ((await this.read(kind, name)) !== after) {
        const words = `${file} was changed after change ${id}; undo the later changes first.`;
        throw new ControlPlaneError('change_overtaken', words);
      }
      return await this.#carryOut({ kind, name, text: before, note, undoes: id, file });
    });
  }

  async #carryOut(order: Order): Promise<Change> {
    const { kind, name, text, note, over } = order;
    const { file, before } = await this.#standing(order);
    if (text !== null) this.#check(order, file);
    if (over !== undefined && before !== over) throw overtaken(file);
    const change = this.#note(order, file, before);
    // An incident is added to those of the others: it replaces none.
    const replaced = note.about === undefined ? this.#settings.shared?.digest(kind, name) : undefined;
    const isEdited = note.about !== undefined && this.#isEdited(kind, name, before);
    // Bookkeeping, such as when a schedule ran last, on top of an edit that others do not have yet.
    const isOnEdit = text !== null && over !== undefined && this.#written.get(`${kind}/${name}`) !== before;
    // Before the file changes, which others may notice at once. A copy that joins an edit is shared with it.
    if (!isCopy(note) || !(isEdited || isOnEdit)) this.#written.set(`${kind}/${name}`, text);
    try {
      const path = resolveInside(this.#settings.directory, file);
      if (text === null) await rm(path, { force: true });
      else await writeFileAtomic(path, text, { ...modeOf(kind), ...(typeof over === 'string' && { over }) });
    } catch (error) {
      if (note.quiet !== true) this.#settings.changes.drop(change.id);
      throw error instanceof StorageError && error.code === 'file_changed' ? overtaken(file) : error;
    }
    // Of the scheduler; an edit by hand that another switchboard shared is no part of the change before it.
    const isBookkeeping = note.quiet === true && over !== undefined;
    if (isBookkeeping) this.#settings.changes.amend(file, before, text);
    else if (!isCopy(note)) {
      const about = isEdited ? undefined : note.about;
      await this.#tell({ kind, name, file, text, by: note.actor, change: sharedOf(change), replaced, about });
    }
    // When a schedule ran last is nothing that others must have.
    const isLastRun = isBookkeeping && text !== null;
    const isUnshared = isCopy(note) ? isEdited || isOnEdit || isLastRun : this.#listeners.size === 0;
    if (!isUnshared) this.#settings.shared?.note(kind, name, text);
    return change;
  }

  /** Whether the file holds a valid edit by hand that others do not have yet. */
  #isEdited(kind: KindName, name: string, text: string | null): boolean {
    if (this.#written.get(`${kind}/${name}`) === text) return false;
    return text === null || this.refusalOf(kind, name, text) === undefined;
  }

  /** What others could not be told counts as an edit, which is shared when they can be reached. */
  async #tell(written: WrittenFile): Promise<void> {
    try {
      for (const tell of this.#listeners) await tell(written);
    } catch (error) {
      if (written.about === undefined) this.#written.delete(`${written.kind}/${written.name}`);
      throw error;
    }
  }

  /** An entry in two files cannot be changed: the other file would bring the old text back. */
  async #standing({ kind, name, note, file }: Order): Promise<{ file: string; before: string | null }> {
    const standing = this.fileOf(kind, name);
    if (!isCopy(note) && standsTwice(this.#settings.directory, standing)) throw twice(standing);
    const before = await this.#current(standing);
    return { file: before === null ? (file ?? standing) : standing, before };
  }

  /** Throws with line and reason when the text is not valid. */
  #check({ kind, name, text }: Pick<Order, 'kind' | 'name' | 'text'>, file: string): void {
    const { schema, expand, ...rest }: Kind = kinds[kind];
    const value = parsed(() => parseYaml(text ?? '', schema, { file, expand, env: this.#settings.env }));
    if (!('key' in rest)) return;
    if ((value as Record<string, unknown>)[rest.key] !== name)
      throw new ControlPlaneError('record_refused', `${file}: its ${rest.key} must be ${name}.`);
  }

  #note({ kind, name, text, note, undoes }: Order, file: string, before: string | null): Change {
    const change = {
      at: Date.now(),
      by: note.actor,
      reason: note.reason ?? null,
      messageId: note.command?.id ?? randomUUID(),
      topic: note.command?.topic ?? 'registrar',
      kind,
      name,
      file,
      before,
      after: text,
      undoes: undoes ?? null,
      owner: note.owner,
      ...note.shared,
    };
    return note.quiet === true ? { id: 0, ...change } : this.#settings.changes.add(change);
  }

  async #current(file: string): Promise<string | null> {
    try {
      const path = resolveInside(this.#settings.directory, file);
      return (await readPlainFile(path)).toString('utf8');
    } catch (error) {
      if (error instanceof ConfigError)
        throw new ControlPlaneError('record_refused', `${error.problems.join('; ')}.`, { cause: error });
      if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return null;
      throw error;
    }
  }
}

/** Of what stands elsewhere already, or need not. */
function isCopy({ quiet, shared }: ChangeNote): boolean {
  return quiet === true || shared !== undefined;
}

export function sharedOf({ id, at, reason, messageId, topic, undoes }: Change): SharedChange {
  return { id, at, reason, messageId, topic, undoes };
}

/** Refuses names that could lead out of the folder. */
function fileOf(kind: KindName, name: string): string {
  const place: Kind = kinds[kind];
  if ('file' in place) {
    if (name === kind) return place.file;
    throw new ControlPlaneError('name_refused', `The name of ${place.file} is ${kind}, not ${name}.`);
  }
  const found = (kind === 'cron' ? scheduleId : entryName).safeParse(name);
  if (found.success) return `${place.folder}/${name}.yaml`;
  const words = `The name ${JSON.stringify(name)} is refused: ${found.error.issues[0]?.message}.`;
  throw new ControlPlaneError('name_refused', words);
}

/** Files that can hold credentials are made private again on every write. */
function modeOf(kind: KindName): { mode?: number } {
  return holdsSecrets(kind) ? { mode: privateMode } : {};
}

function twice(file: string): ControlPlaneError {
  return new ControlPlaneError('entry_twice', `${twiceWords(file)}, then change it.`);
}

function overtaken(file: string): ControlPlaneError {
  const words = `${file} was changed or removed meanwhile; look at it again.`;
  return new ControlPlaneError('change_overtaken', words);
}

function parsed<T>(parse: () => T): T {
  try {
    return parse();
  } catch (cause) {
    throw new ControlPlaneError('record_refused', errorMessage(cause), { cause });
  }
}

type RegistrarErrorCode = (typeof controlPlaneErrorCodes)[number];

/** The message says why the change was refused and what to do. */
export class ControlPlaneError extends Error {
  readonly code: RegistrarErrorCode;

  constructor(code: RegistrarErrorCode, message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = 'RegistrarError';
    this.code = code;
  }
}
