import type { Part } from '@trunkline/a2a';
import type { Draft } from '@trunkline/bus';
import type { ExtractionPool } from '@trunkline/documents';
import { createGuardedFetch, type GuardedFetch } from '@trunkline/http';
import { anonymous, maySee, ownerKey, type Principal, quotaKey } from '@trunkline/identity';
import {
  type Content,
  ContentError,
  ContentStore,
  type FileRecord,
  fitContents,
  type NewFile,
  plainName,
  recognised,
  type StoredFile,
  type TurnFiles,
  unreadable,
  unseen,
} from '@trunkline/loop';
import { BoundedMap, ConcurrencyLimiter, errorMessage } from '@trunkline/std';
import type { Peers } from '../cluster/peers.ts';
import { principalOf } from '../core/messages.ts';
import { hourly } from '../core/timers.ts';
import { type FileSource, filesOf } from './references.ts';

export interface MessageFilesSettings {
  directory: string;
  maxFileBytes: number;
  maxTotalBytes: number;
  peers: Pick<Peers, 'offer' | 'ask'>;
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
const mostTextless = 1000;

/**
 * Files that come with messages and answers. Messages on the bus name them; the bytes stay in the data folder of the
 * switchboard that took them, for a day, and others ask it. Only whoever a file belongs to can use it.
 */
export class MessageFiles {
  readonly #settings: MessageFilesSettings;
  readonly #store: ContentStore;
  readonly #stopPruning: () => void;
  readonly #reads = new ConcurrencyLimiter({ limit: mostReads });
  /** Pictures in which no text was recognised: that takes long, and each step of a turn asks again. */
  readonly #textless = new BoundedMap<string, true>(mostTextless);
  #pool: Promise<ExtractionPool> | undefined;
  #room: (quota: string, bytes: number) => string | undefined = () => undefined;

  constructor(settings: MessageFilesSettings) {
    const { directory, maxFileBytes, maxTotalBytes, peers, logger } = settings;
    this.#settings = settings;
    this.#store = new ContentStore({
      ...{ directory, maxFileBytes, maxTotalBytes },
      room: (quota, bytes) => this.#room(quota, bytes),
      // There are no links to these files.
      secret: '',
    });
    this.#stopPruning = hourly(() => this.#store.prune(() => false), logger);
    peers.offer('file', ({ id, from }, viewer) => this.#chunk(String(id), Number(from), viewer));
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
      const names = sources
        .slice(0, mostFiles)
        .map(({ name }) => plainName(name))
        .join(', ');
      const words = `[Not read: ${names}. Files are taken from people whom the operator has paired.]`;
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
    problems.push(...tooMany(sources));
    const content = [payload.content, ...problems].join('\n');
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
    const own = this.#find(id, viewer);
    if (own !== undefined) return await this.#store.read(id);
    const chunks: Buffer[] = [];
    for (let from = 0, size = 1; from < size; ) {
      const [chunk] = await this.#settings.peers.ask<FileChunk>('file', { id, from }, viewer);
      if (chunk === undefined) return undefined;
      const bytes = Buffer.from(chunk.bytes, 'base64');
      if (bytes.length === 0) return undefined;
      chunks.push(bytes);
      [from, size] = [from + bytes.length, chunk.size];
    }
    return Buffer.concat(chunks);
  }

  async #chunk(id: string, from: number, viewer: Principal): Promise<FileChunk | undefined> {
    const file = this.#find(id, viewer);
    if (file === undefined || !Number.isSafeInteger(from) || from < 0) return undefined;
    const bytes = await this.#store.readSome(id, from, chunkBytes);
    return bytes && { size: file.size, bytes: bytes.toString('base64') };
  }

  #find(id: string, viewer: Principal): FileRecord | undefined {
    const file = this.#store.find(id);
    return file !== undefined && maySee(viewer, file.owner) ? file : undefined;
  }

  /** The files of a message with their bytes, for a surface or another agent; `lost` names those that are gone. */
  async open(
    payload: unknown,
    viewer: Principal = anonymous,
  ): Promise<{ files: (StoredFile & { bytes: Uint8Array })[]; lost: string[] }> {
    const [files, lost]: [(StoredFile & { bytes: Uint8Array })[], string[]] = [[], []];
    for (const file of filesOf(payload).slice(0, mostFiles)) {
      const bytes = await this.read(file.id, viewer);
      if (bytes === undefined) lost.push(file.name);
      else files.push({ ...file, bytes });
    }
    return { files, lost };
  }

  /** What a model gets of the files of a request. Their text is marked: whoever sent them has not written it. */
  async contents(payload: unknown, viewer: Principal, signal: AbortSignal): Promise<Content[]> {
    const { files, lost } = await this.open(payload, viewer);
    const contents: Content[] = lost.map((name) => ({
      type: 'text',
      text: `[${name} is no longer stored. Ask for it again.]`,
    }));
    for (const file of files) contents.push(await this.#content(file, ownerKey(viewer), signal));
    return fitContents(contents, documentTokens);
  }

  async #content(
    { bytes, ...file }: StoredFile & { bytes: Uint8Array },
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

  async #shown(id: string, viewer: Principal, signal: AbortSignal): Promise<Content> {
    const file = this.#find(id, viewer);
    const bytes = await this.read(id, viewer);
    if (file === undefined || bytes === undefined)
      return { type: 'text', text: '[The file is no longer stored.]' };
    return await this.#content({ ...file, bytes }, ownerKey(viewer), signal, unreadable(file));
  }

  async #describe(id: string, viewer: Principal, signal: AbortSignal): Promise<string> {
    const file = this.#find(id, viewer);
    if (file === undefined) return unseen('A file', 'application/octet-stream');
    const { name, mediaType: type } = file;
    const words = unseen(name, type);
    if (!type.startsWith('image/') || this.#textless.has(id)) return words;
    const known = this.#store.text(id);
    if (known !== undefined) return recognised(words, known.text);
    const bytes = await this.#store.read(id);
    if (bytes === undefined) return words;
    const { ExtractionError } = await import('@trunkline/documents');
    try {
      const pool = await this.#extraction();
      const options = { signal, owner: ownerKey(viewer) };
      const { text, isWhole } = await pool.extract({ bytes, type, name }, options);
      this.#store.setText(id, text.slice(0, longestText), isWhole);
      return recognised(words, text);
    } catch (error) {
      // A picture without text, or no text recognition installed: then the description stands alone.
      if (!(error instanceof ExtractionError)) throw error;
      this.#textless.set(id, true);
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

interface FileChunk {
  size: number;
  /** Base64. */
  bytes: string;
}

function tooMany({ length }: readonly FileSource[]): string[] {
  return length > mostFiles
    ? [`[${length - mostFiles} more files were not read: a message may have ${mostFiles}.]`]
    : [];
}

const mostRedirects = 5;

/** Fetches from public addresses and from one origin; a redirect leaves that origin for public addresses alone. */
function createFileFetch(maxBytes: number, origin: string | undefined): GuardedFetch {
  const anywhere = createGuardedFetch({ maxBytes });
  if (origin === undefined) return anywhere;
  const there = createGuardedFetch({ allowedHosts: [new URL(origin).hostname], maxBytes, maxRedirects: 0 });
  return async (input, request) => {
    let url = String(input);
    for (let count = 0; count <= mostRedirects && URL.parse(url)?.origin === origin; count += 1) {
      const answer = await there(url, request);
      const location = answer.headers.get('location');
      if (location === null || answer.status < 300 || answer.status > 399) return answer;
      url = URL.parse(location, url)?.href ?? location;
    }
    return await anywhere(url, request);
  };
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
