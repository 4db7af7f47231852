import type { Part } from '@trunkline/a2a';
import type { Draft } from '@trunkline/bus';
import type { ExtractionPool } from '@trunkline/documents';
import { createFileFetch, type GuardedFetch, type OpenLink } from '@trunkline/http';
import {
  anonymous,
  maySee,
  ownerKey,
  type Principal,
  quotaKey,
  readOrCreateSecret,
} from '@trunkline/identity';
import {
  type Content,
  ContentError,
  ContentStore,
  type FileRecord,
  fitContents,
  type NewFile,
  recognised,
  type StoredFile,
  type TurnFiles,
  unreadable,
  unseen,
} from '@trunkline/loop';
import { BoundedMap, ConcurrencyLimiter, errorMessage, plainName } from '@trunkline/std';
import type { Peers } from '../cluster/peers.ts';
import { principalOf } from '../core/messages.ts';
import { hourly } from '../core/timers.ts';
import { type FileSource, filesOf } from './references.ts';

export interface MessageFilesSettings {
  directory: string;
  maxFileBytes: number;
  maxTotalBytes: number;
  peers: Pick<Peers, 'offer' | 'ask' | 'silent'>;
  /** Whether the files of a message are fetched, by who wrote it. */
  takesFiles(draft: Draft): boolean;
  logger: Parameters<typeof hourly>[1];
}

/** Files of one message; surfaces allow ten or twenty. */
const mostFiles = 20;
/** Each is in memory as a whole until it is stored. */
const mostReads = 8;
/** For all files of a message together: the messages behind it, or whoever asked, wait. */
const receiveMs = 60_000;
/** Strangers of one surface may fill this part of the store, so that there is room for the others. */
const guestsShare = 1 / 8;
/** Of a file that another switchboard stores, one message of the bus at a time. */
const chunkBytes = 512 * 1024;
const longestText = 2_000_000;
/** Of all documents of a message together. */
const documentTokens = 20_000;
/** A description has up to some 4,000 characters. */
const mostDescribed = 1000;
/** Files are stored so long. */
const dayMs = 24 * 60 * 60 * 1000;

const ourselves: Principal = { kind: 'service', id: 'switchboard', via: [] };

/**
 * Files that come with messages and answers. Messages on the bus name them; the bytes stay in the data folder of the
 * switchboard that took them, for a day, and others ask it. Only whoever a file belongs to can use it.
 */
export class MessageFiles {
  readonly #settings: MessageFilesSettings;
  readonly #store: ContentStore;
  readonly #stopPruning: () => void;
  readonly #reads = new ConcurrencyLimiter({ limit: mostReads });
  /** What each owner was told of a file: to fetch and recognise it takes long, and each step of a turn asks again. */
  readonly #described = new BoundedMap<string, string>(mostDescribed);
  #pool: Promise<ExtractionPool> | undefined;
  #room: (quota: string, bytes: number) => string | undefined = () => undefined;

  constructor(settings: MessageFilesSettings) {
    const { directory, maxFileBytes, maxTotalBytes, peers, logger } = settings;
    this.#settings = settings;
    this.#store = new ContentStore({
      ...{ directory, maxFileBytes, maxTotalBytes },
      room: (quota, bytes) => this.#room(quota, bytes),
      secret: readOrCreateSecret(directory, 'link-secret'),
    });
    this.#stopPruning = hourly(() => this.#store.prune(() => false), logger);
    peers.offer('file', ({ id, from }, viewer) => this.#chunk(this.#find(String(id), viewer), Number(from)));
    peers.offer('linked file', ({ id, from, expires, signature }) =>
      this.#store.isSigned(String(id), Number(expires), String(signature))
        ? this.#chunk(this.#store.find(String(id)), Number(from))
        : undefined,
    );
  }

  /** Words for whoever would store too much on a quota. */
  limitBy(room: (quota: string, bytes: number) => string | undefined): void {
    this.#room = room;
  }

  bytesOf(owner: string): number {
    return this.#store.bytesOf(owner);
  }

  async close(): Promise<void> {
    this.#stopPruning();
    await (await this.#pool)?.stop();
    this.#store.close();
  }

  /** The draft with the files that came with it. What cannot be stored is named in its text, so that the agent can say so. */
  async receive(draft: Draft, sources: readonly FileSource[]): Promise<Draft> {
    if (sources.length === 0) return draft;
    const payload = draft.payload as { content: string };
    if (!this.#settings.takesFiles(draft)) {
      const names = sources.slice(0, mostFiles).map(({ name }) => plainName(name));
      const words = `[Not read: ${names.join(', ')}. Files are taken from people whom the operator has paired.]`;
      return { ...draft, payload: { ...payload, content: `${payload.content}\n${words}` } };
    }
    const signal = AbortSignal.timeout(receiveMs);
    const files: StoredFile[] = [];
    const problems: string[] = [];
    for (const source of sources.slice(0, mostFiles))
      try {
        files.push(await this.#take(source, principalOf(draft), signal));
      } catch (error) {
        problems.push(`[${plainName(source.name)} could not be read: ${errorMessage(error)}]`);
      }
    const content = [payload.content, ...problems, ...tooMany(sources)].join('\n');
    return { ...draft, payload: { ...payload, content, ...(files.length > 0 && { files }) } };
  }

  async #take(source: FileSource, principal: Principal, signal: AbortSignal): Promise<StoredFile> {
    const { maxFileBytes } = this.#settings;
    const name = plainName(source.name);
    // What the surface says is checked before the bytes are fetched; the store checks them again.
    if ((source.size ?? 0) > maxFileBytes)
      throw new Error(
        `it has more than ${maxFileBytes / 2 ** 20} MB. Send a smaller file, or ask the operator to raise CORE_MAX_FILE_MB`,
      );
    return await this.#reads.run(
      async () => {
        const bytes = await source.read(signal);
        const { classifyFile } = await import('@trunkline/documents');
        const { mediaType } = classifyFile({ bytes, mediaType: source.mediaType, name });
        return await this.put({ bytes, name, mediaType }, principal);
      },
      { signal },
    );
  }

  async put(file: NewFile, principal: Principal): Promise<StoredFile> {
    const [owner, quota] = [ownerKey(principal), quotaKey(principal)];
    if (quota !== owner && this.bytesOf(quota) >= this.#settings.maxTotalBytes * guestsShare)
      throw new ContentError(
        'full',
        'Guests have no more room for files here today. Ask the operator to pair you.',
      );
    return await this.#store.put(file, owner, undefined, quota);
  }

  /** The bytes of a file that somebody may see; undefined where no switchboard stores it any more. */
  async read(id: string, viewer: Principal): Promise<Uint8Array | undefined> {
    return (await this.#whole(id, viewer))?.bytes;
  }

  /** A file with its bytes, wherever it is stored. */
  async #whole(id: string, viewer: Principal): Promise<OpenFile | undefined> {
    const own = this.#find(id, viewer);
    const bytes = own && (await this.#store.read(id));
    if (own !== undefined) return bytes && { ...own, bytes };
    const other = await this.#fromPeers('file', { id }, viewer);
    return other && { id, ...other };
  }

  /** Reads a file of another switchboard, piece by piece. */
  async #fromPeers(kind: string, query: object, viewer: Principal) {
    const chunks: Buffer[] = [];
    let last: FileChunk | undefined;
    for (let from = 0; last === undefined || from < last.size; ) {
      [last] = await this.#settings.peers.ask<FileChunk>(kind, { ...query, from }, viewer);
      const bytes = Buffer.from(last?.bytes ?? '', 'base64');
      if (last === undefined || bytes.length === 0) return undefined;
      chunks.push(bytes);
      from += bytes.length;
    }
    return { ...last, bytes: Buffer.concat(chunks) };
  }

  async #chunk(file: FileRecord | undefined, from: number): Promise<FileChunk | undefined> {
    if (file === undefined || !Number.isSafeInteger(from) || from < 0) return undefined;
    const { id, name, mediaType, size } = file;
    const bytes = await this.#store.readSome(id, from, chunkBytes);
    return bytes && { name, mediaType, size, bytes: bytes.toString('base64') };
  }

  /**
   * Path and query under which whoever holds them may read a file for an hour; undefined where it is no longer stored.
   * What another switchboard stores is copied: whoever signs a link serves it.
   */
  async link(file: StoredFile, viewer: Principal): Promise<string | undefined> {
    if (this.#find(file.id, viewer) !== undefined) return this.#store.link(file.id);
    const bytes = await this.read(file.id, viewer);
    return bytes && this.#store.link((await this.put({ ...file, bytes }, viewer)).id);
  }

  /** A link may come to a switchboard that did not sign it, where several have one address. Nobody else sees them ask. */
  readonly openLink: OpenLink = async (id, { expires, signature }) => {
    const own = this.#store.find(id);
    if (this.#store.isSigned(id, expires, signature)) {
      const bytes = await this.#store.read(id);
      return own && bytes && { ...own, bytes };
    }
    // Whoever stores a file signs the links to it, so others have signed none to one that is stored here.
    if (own !== undefined || expires * 1000 < Date.now()) return 'refused';
    const found = await this.#fromPeers('linked file', { id, expires, signature }, ourselves);
    return found ?? (this.#isAway(id) ? 'away' : 'refused');
  };

  #find(id: string, viewer: Principal): FileRecord | undefined {
    const file = this.#store.find(id);
    return file !== undefined && maySee(viewer, file.owner) ? file : undefined;
  }

  /** Whether a silent switchboard may store a file. Only the log names it: links need no key, and answers go to strangers. */
  #isAway(file: string): boolean {
    const nodes = this.#settings.peers.silent(dayMs);
    if (nodes.length > 0) this.#settings.logger.warn({ nodes, file }, 'file may be at a silent node');
    return nodes.length > 0;
  }

  /** Why a file cannot be had. */
  #missing(id: string, name: string): string {
    if (!this.#isAway(id)) return `${name} is no longer stored.`;
    return `${name} is not stored here. It may be at a switchboard that does not answer now: try again later.`;
  }

  /** The files of a message with their bytes, for a surface or another agent; `lost` says why the others cannot be had. */
  async open(payload: unknown, viewer = anonymous): Promise<{ files: OpenFile[]; lost: string[] }> {
    const [files, lost]: [OpenFile[], string[]] = [[], []];
    for (const file of filesOf(payload).slice(0, mostFiles)) {
      const bytes = await this.read(file.id, viewer);
      if (bytes === undefined) lost.push(this.#missing(file.id, file.name));
      else files.push({ ...file, bytes });
    }
    return { files, lost };
  }

  /** What a model gets of the files of a request. Their text is marked: whoever sent them has not written it. */
  async contents(payload: unknown, viewer: Principal, signal: AbortSignal): Promise<Content[]> {
    const { files, lost } = await this.open(payload, viewer);
    const contents: Content[] = lost.map((words) => ({ type: 'text', text: `[${words}]` }));
    for (const file of files) contents.push(await this.#content(file, ownerKey(viewer), signal));
    return fitContents(contents, documentTokens);
  }

  async #content(
    { bytes, ...file }: OpenFile,
    owner: string,
    signal: AbortSignal,
    refusal?: string,
  ): Promise<Content> {
    const { classifyFile, ExtractionError, UnsupportedFile } = await import('@trunkline/documents');
    const origins = [{ kind: 'file', source: file.name }];
    try {
      const { kind, mediaType } = classifyFile({ bytes, ...file });
      if (kind === 'image' || kind === 'audio') return { type: kind, file: { ...file, mediaType }, origins };
      const read =
        kind === 'text'
          ? { text: new TextDecoder().decode(bytes), isWhole: true }
          : await (await this.#extraction()).extract(
              { bytes, type: mediaType, name: file.name },
              { signal, owner },
            );
      const text = read.text.slice(0, longestText);
      return { type: 'file', file, text, isWhole: read.isWhole && text.length === read.text.length, origins };
    } catch (error) {
      if (error instanceof ExtractionError)
        return { type: 'text', text: `[${file.name} cannot be used: it ${error.message}.]`, origins };
      if (!(error instanceof UnsupportedFile)) throw error;
      return { type: 'text', text: refusal ?? `[${error.message}]`, origins };
    }
  }

  #extraction(): Promise<ExtractionPool> {
    this.#pool ??= import('@trunkline/documents').then(({ ExtractionPool }) => new ExtractionPool());
    return this.#pool;
  }

  /** What the turn of an agent may do with files. */
  turnFiles(principal: Principal): TurnFiles {
    return {
      read: (id) => this.read(id, principal),
      describe: (id, signal) => this.#describe(id, principal, signal),
      content: (id, signal) => this.#shown(id, principal, signal),
      store: (file) => this.put(file, principal),
    };
  }

  /** What stands in a document that somebody may see; `named` are those of a request, which another switchboard may store. */
  async text(
    id: string,
    viewer: Principal,
    { named, signal }: { named: readonly StoredFile[]; signal: AbortSignal },
  ): Promise<{ name: string; text: string } | undefined> {
    const own = this.#find(id, viewer);
    const file = own ?? named.find((each) => each.id === id);
    const known = own && this.#store.text(id);
    if (file !== undefined && known !== undefined) return { name: file.name, text: known.text };
    const bytes = file && (await this.read(id, viewer));
    if (file === undefined || bytes === undefined) return undefined;
    const content = await this.#content({ ...file, bytes }, ownerKey(viewer), signal);
    if (content.type !== 'file' || content.text === undefined) return undefined;
    if (own !== undefined) this.#store.setText(id, content.text, content.isWhole ?? true);
    return { name: file.name, text: content.text };
  }

  async #shown(id: string, viewer: Principal, signal: AbortSignal): Promise<Content> {
    const file = await this.#whole(id, viewer);
    if (file === undefined) return { type: 'text', text: `[${this.#missing(id, 'The file')}]` };
    return await this.#content(file, ownerKey(viewer), signal, unreadable(file));
  }

  async #describe(id: string, viewer: Principal, signal: AbortSignal): Promise<string> {
    const [owner, key] = [ownerKey(viewer), `${ownerKey(viewer)} ${id}`];
    const file = this.#described.has(key) ? undefined : await this.#whole(id, viewer);
    if (file !== undefined) this.#described.set(key, await this.#description(file, owner, signal));
    return this.#described.get(key) ?? unseen('A file', 'application/octet-stream');
  }

  async #description(file: OpenFile, owner: string, signal: AbortSignal): Promise<string> {
    const { id, name, mediaType: type, bytes } = file;
    const words = unseen(name, type);
    if (!type.startsWith('image/')) return words;
    const known = this.#store.text(id);
    if (known !== undefined) return recognised(words, known.text);
    const { ExtractionError } = await import('@trunkline/documents');
    try {
      const pool = await this.#extraction();
      const { text, isWhole } = await pool.extract({ bytes, type, name }, { signal, owner });
      this.#store.setText(id, text.slice(0, longestText), isWhole);
      return recognised(words, text);
    } catch (error) {
      // A picture without text, or no text recognition installed: then the description stands alone.
      if (!(error instanceof ExtractionError)) throw error;
      return words;
    }
  }

  /**
   * The files among the parts of another agent's answer, or of a message for one of ours, stored for the principal.
   * `origin` (scheme, host and port) may be fetched from although it is not public; nothing else of its host may.
   */
  async fromParts(
    parts: readonly Part[],
    principal: Principal,
    { origin, signal }: { origin?: string; signal: AbortSignal },
  ): Promise<{ files: StoredFile[]; problems: string[] }> {
    const fetch = createFileFetch(this.#settings.maxFileBytes, origin);
    const found = parts.filter((part) => part.type === 'file');
    const sources = found.map((part, index) => sourceOf(part, index, fetch));
    const [files, problems]: [StoredFile[], string[]] = [[], tooMany(sources)];
    const reading = AbortSignal.any([signal, AbortSignal.timeout(receiveMs)]);
    for (const source of sources.slice(0, mostFiles))
      try {
        const bytes = await source.read(reading);
        files.push(
          await this.put({ bytes, name: plainName(source.name), mediaType: source.mediaType }, principal),
        );
      } catch (error) {
        signal.throwIfAborted();
        problems.push(`[${plainName(source.name)} could not be read: ${errorMessage(error)}]`);
      }
    return { files, problems };
  }
}

type OpenFile = StoredFile & { bytes: Uint8Array };

interface FileChunk {
  name: string;
  mediaType: string;
  size: number;
  /** Base64. */
  bytes: string;
}

function tooMany({ length }: readonly FileSource[]): string[] {
  return length > mostFiles
    ? [`[${length - mostFiles} more files were not read: a message may have ${mostFiles}.]`]
    : [];
}

function sourceOf(part: Extract<Part, { type: 'file' }>, index: number, fetch: GuardedFetch): FileSource {
  const { bytes, uri = '', name = `file-${index + 1}`, mediaType = 'application/octet-stream' } = part;
  const read = async (signal: AbortSignal) => {
    if (bytes !== undefined) return Buffer.from(bytes, 'base64');
    const { body, status } = await fetch(uri, { signal });
    if (status !== 200) throw new Error(`its address answers with ${status}.`);
    return body;
  };
  return { name, mediaType, read };
}
