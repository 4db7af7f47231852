import { A2aError, type ExecutionEvent, type ExecutionRequest, type Part } from '@trunkline/a2a';
import { classifyFile, ExtractionError, type ExtractionPool, UnsupportedFile } from '@trunkline/documents';
import { type GuardedFetch, HttpError } from '@trunkline/http';
import { maySee, type Origin, ownerKey, type Principal, quotaKey } from '@trunkline/identity';
import { urlSubject } from '@trunkline/llm';
import {
  type Content,
  ContentError,
  type ContentStore,
  recognised,
  type StoredFile,
  type TurnFiles,
  type TurnPolicy,
  unreadable,
  unseen,
} from '@trunkline/loop';
import { BoundedMap, plainName } from '@trunkline/std';
import { actingFor } from '../approvals/approvals.ts';
import type { Owners } from '../owners.ts';
import { contentsOfData } from './a2a-content.ts';

export interface AgentContentDeps {
  store: ContentStore;
  pool: ExtractionPool;
  /** For files that a message names by their address. */
  fetch: GuardedFetch;
  policy: TurnPolicy;
  owners: Owners;
  /** Where links to files begin. */
  publicUrl(): string;
}

/** For whom a file is stored, and with which conversation it goes. */
interface Place {
  principal: Principal;
  sessionId: string;
}

/** Why a message cannot be used; the message says what to send instead. */
export class ContentRefusal extends Error {}

/** Names a file that was uploaded before the message. */
export const uploadScheme = 'trunkline-file:';

const longestData = 200_000;
const longestText = 2_000_000;
const mostFiles = 20;
const mostTextless = 1000;

/** Refuses a message by the files in it before there is a task. What only reading can tell is refused later. */
export function admitParts({ message }: ExecutionRequest): { release(): void } {
  for (const part of message.parts) {
    if (part.type !== 'file' || part.bytes === undefined) continue;
    try {
      const bytes = Buffer.from(part.bytes.slice(0, 16_384), 'base64');
      classifyFile({ bytes, mediaType: part.mediaType ?? '', name: plainName(part.name ?? 'file') });
    } catch (error) {
      if (!(error instanceof UnsupportedFile)) throw error;
      throw new A2aError('CONTENT_TYPE_NOT_SUPPORTED', `Incompatible content types: ${error.message}`);
    }
  }
  return { release: () => undefined };
}

/** Larger files are links in an artifact. */
const mostInline = 2 ** 20;
/** As long as a task is kept: whoever reads it again can follow its links. */
const taskMs = 24 * 60 * 60 * 1000;

/** What messages hold besides text, in and out: stores files, reads documents, and says what cannot be used. */
export class AgentContent {
  readonly #deps: AgentContentDeps;
  /** Pictures in which no text was recognised: that takes long, and each step of a turn asks again. */
  readonly #textless = new BoundedMap<string, true>(mostTextless);

  constructor(deps: AgentContentDeps) {
    this.#deps = deps;
  }

  /** The contents of a message but its text, in their order; throws a ContentRefusal. */
  async receive(parts: readonly Part[], place: Place, signal: AbortSignal): Promise<Content[]> {
    const others = parts.filter(({ type }) => type !== 'text');
    if (others.length > mostFiles)
      throw new ContentRefusal(
        `A message may hold ${mostFiles} files, and this one has ${others.length}. Send the rest in another message.`,
      );
    const contents: Content[] = [];
    for (const part of others)
      contents.push(...(await this.#refusing(() => this.#contents(part, place, signal))));
    return contents;
  }

  /** Stores a file of the chat page before its message comes. */
  async upload(file: { bytes: Uint8Array; name: string; mediaType: string }, principal: Principal) {
    return await this.#refusing(async () => {
      const { mediaType } = classifyFile({ ...file, name: plainName(file.name) });
      return await this.#deps.store.put(
        { ...file, mediaType },
        ownerKey(principal),
        undefined,
        quotaKey(principal),
      );
    });
  }

  /** What a turn may do with files. */
  turnFiles({ principal, sessionId }: Place): TurnFiles {
    const { store } = this.#deps;
    return {
      read: (id) => store.read(id),
      describe: (id, signal) => this.#describe(id, signal),
      content: (id, signal) => this.#shown(id, signal),
      store: (file) => store.put(file, ownerKey(principal), sessionId, quotaKey(principal)),
    };
  }

  /** A file that a turn made, as whoever asked gets it. */
  async artifact({ id, name, mediaType, size }: StoredFile): Promise<ExecutionEvent> {
    const bytes = size > mostInline ? undefined : await this.#deps.store.read(id);
    const content =
      bytes === undefined ? { uri: this.link(id, taskMs) } : { bytes: bytes.toString('base64') };
    const part: Part = { type: 'file', name, mediaType, ...content, metadata: { file: id, size } };
    return { type: 'artifact', name, parts: [part] };
  }

  async bytes(id: string): Promise<Buffer | undefined> {
    return await this.#deps.store.read(id);
  }

  /** An address under which whoever holds it can read the file, for an hour where nothing else is said. */
  link(id: string, lifeMs?: number): string {
    return `${this.#deps.publicUrl()}${this.#deps.store.link(id, lifeMs)}`;
  }

  async #contents(part: Part, place: Place, signal: AbortSignal): Promise<Content[]> {
    if (part.type === 'file') return [await this.#file(part, place, signal)];
    if (part.type === 'text') return [part];
    if ((JSON.stringify(part.data) ?? '').length > longestData)
      throw new ContentRefusal(
        `A data part may have ${longestData} characters of JSON. Send it as a file instead.`,
      );
    return contentsOfData(part);
  }

  async #file(part: Extract<Part, { type: 'file' }>, place: Place, signal: AbortSignal): Promise<Content> {
    const { store } = this.#deps;
    const { principal, sessionId } = place;
    const owner = ownerKey(principal);
    const known = part.uri?.startsWith(uploadScheme) ? this.#uploaded(part.uri, place) : undefined;
    const { bytes, name, mediaType, source } =
      known === undefined ? await this.#bytesOf(part, place, signal) : await this.#stored(known);
    const found = classifyFile({ bytes, mediaType, name });
    const given = { bytes, name, mediaType: found.mediaType };
    const file = known ?? (await store.put(given, owner, sessionId, quotaKey(principal)));
    // Whoever sends a file has not written all that is in it.
    const origins: Origin[] = [{ kind: 'file', source }];
    if (found.kind === 'image' || found.kind === 'audio') return { type: found.kind, file, origins };
    const { text, isWhole } = await this.#textOf(file, bytes, found, { signal, owner }).catch(
      (error: unknown) => {
        if (!(error instanceof ExtractionError)) throw error;
        throw new ContentRefusal(`${file.name} cannot be used: it ${error.message}.`, { cause: error });
      },
    );
    return { type: 'file', file, text, isWhole, origins };
  }

  /** A file of the chat page: only whoever may see it can send it on. */
  #uploaded(uri: string, { principal, sessionId }: Place): StoredFile {
    const { store, owners } = this.#deps;
    const found = store.find(uri.slice(uploadScheme.length));
    const isTheirs = found !== undefined && maySee(owners.viewer(principal), found.owner);
    const file = isTheirs ? store.use(found.id, sessionId, quotaKey(principal)) : undefined;
    if (file === undefined)
      throw new ContentRefusal('An attached file is no longer stored. Attach it again.');
    return file;
  }

  async #stored(file: StoredFile) {
    const bytes = await this.#deps.store.read(file.id);
    if (bytes === undefined) throw new ContentRefusal(`${file.name} is no longer stored. Attach it again.`);
    return { ...file, bytes, source: file.name };
  }

  async #bytesOf(part: Extract<Part, { type: 'file' }>, place: Place, signal: AbortSignal) {
    const { name = part.bytes === undefined ? nameIn(part.uri ?? '') : 'file', mediaType = '' } = part;
    if (part.bytes !== undefined) {
      const bytes = decoded(part.bytes, plainName(name), this.#deps.store.maxFileBytes);
      return { bytes, name: plainName(name), mediaType, source: plainName(name) };
    }
    const { uri = '' } = part;
    const inline = /^data:([^,]*?)(;base64)?,(.*)$/s.exec(uri);
    if (inline !== null) {
      const [, type = '', isBase64, data = ''] = inline;
      const text = isBase64 === undefined ? percentDecoded(data, plainName(name)) : data;
      const bytes = decoded(text, plainName(name), this.#deps.store.maxFileBytes);
      return { bytes, name: plainName(name), mediaType: mediaType || type, source: plainName(name) };
    }
    const { body, contentType, status } = await this.#deps.fetch(uri, {
      signal,
      allowsRedirect: this.#permit(uri, place),
    });
    if (status !== 200)
      throw new ContentRefusal(
        `The file at ${publicPart(uri)} could not be fetched: it answers with ${status}.`,
      );
    return {
      bytes: body,
      name: plainName(name),
      mediaType: mediaType || contentType,
      source: publicPart(uri),
    };
  }

  /**
   * Refuses an address that `fetch_url` may not read for this caller; nobody can be asked before the turn. Gives the
   * rule for redirects.
   */
  #permit(url: string, { principal, sessionId }: Place): (target: URL) => boolean {
    const { policy } = this.#deps;
    const asker = actingFor(principal);
    const requestOf = (address: string) => ({
      principal: asker,
      agent: policy.agent,
      tool: 'fetch_url',
      effects: ['reads' as const],
      subject: urlSubject(address),
      origins: asker.origins ?? [],
      isKnownUrl: () => true,
    });
    const request = requestOf(url);
    const { decision, rule, why } = policy.decide(request);
    const refused = decision === 'allow' ? policy.spend?.(request) : why;
    const result = refused === undefined ? 'started' : 'refused';
    policy.record?.({ request, input: { url }, decision, rule, result, sessionId });
    if (refused !== undefined)
      throw new ContentRefusal(
        `The file at ${publicPart(url)} was not fetched, because policy does not allow fetch_url: ${refused}. Send the file itself.`,
      );
    return (target) => {
      const onward = requestOf(target.href);
      return (policy.check?.(onward) ?? policy.decide(onward)).decision === 'allow';
    };
  }

  async #textOf(
    file: StoredFile,
    bytes: Uint8Array,
    { kind, mediaType }: ReturnType<typeof classifyFile>,
    options: { signal: AbortSignal; owner: string },
  ): Promise<{ text: string; isWhole: boolean }> {
    const { store, pool } = this.#deps;
    const known = store.text(file.id);
    if (known !== undefined) return known;
    const read =
      kind === 'text'
        ? { text: new TextDecoder().decode(bytes), isWhole: true }
        : await pool.extract({ bytes, type: mediaType, name: file.name }, options);
    const text = read.text.slice(0, longestText);
    const isWhole = read.isWhole && text.length === read.text.length;
    store.setText(file.id, text, isWhole);
    return { text, isWhole };
  }

  async #shown(id: string, signal: AbortSignal): Promise<Content> {
    const { store } = this.#deps;
    const file = store.find(id);
    const bytes = await store.read(id);
    if (file === undefined || bytes === undefined)
      return { type: 'text', text: '[The file is no longer stored.]' };
    const { name, owner } = file;
    const origins: Origin[] = [{ kind: 'file', source: name }];
    try {
      const found = classifyFile({ ...file, bytes });
      const { kind, mediaType } = found;
      if (kind === 'image' || kind === 'audio') return { type: kind, file: { ...file, mediaType }, origins };
      const { text, isWhole } = await this.#textOf(file, bytes, found, { signal, owner });
      return { type: 'file', file, text, isWhole, origins };
    } catch (error) {
      if (error instanceof ExtractionError)
        return { type: 'text', text: `[${name} cannot be read: it ${error.message}.]` };
      if (!(error instanceof UnsupportedFile)) throw error;
      return { type: 'text', text: unreadable(file) };
    }
  }

  async #describe(id: string, signal: AbortSignal): Promise<string> {
    const { store } = this.#deps;
    const file = store.find(id);
    const bytes = await store.read(id);
    if (file === undefined || bytes === undefined) return 'A file that is no longer stored';
    const words = unseen(file.name, file.mediaType);
    if (!file.mediaType.startsWith('image/') || this.#textless.has(id)) return words;
    try {
      const found = classifyFile({ ...file, bytes });
      const { text } = await this.#textOf(
        file,
        bytes,
        { ...found, kind: 'document' },
        { signal, owner: file.owner },
      );
      return recognised(words, text);
    } catch (error) {
      // A picture without text, or no text recognition installed: then the description stands alone.
      if (!(error instanceof ExtractionError)) throw error;
      this.#textless.set(id, true);
      return words;
    }
  }

  async #refusing<Result>(work: () => Promise<Result>): Promise<Result> {
    try {
      return await work();
    } catch (error) {
      if (error instanceof ContentError || error instanceof UnsupportedFile || error instanceof HttpError)
        throw new ContentRefusal(error.message, { cause: error });
      throw error;
    }
  }
}

function decoded(base64: string, name: string, most: number): Buffer {
  // Told before it is decoded, as that would take as much memory again.
  if ((base64.length / 4) * 3 > most + 3)
    throw new ContentRefusal(
      `${name} has more than ${most / 2 ** 20} MB. Send a smaller file, or ask the operator to raise CORE_MAX_FILE_MB.`,
    );
  if (!/^[A-Za-z0-9+/_=\s-]*$/.test(base64))
    throw new ContentRefusal(`The bytes of ${name} are not base64. Encode them again.`);
  return Buffer.from(base64, 'base64');
}

/** The text of a `data:` address, as base64. */
function percentDecoded(data: string, name: string): string {
  try {
    return Buffer.from(decodeURIComponent(data)).toString('base64');
  } catch (error) {
    throw new ContentRefusal(`The address of ${name} is not percent-encoded. Send its bytes as base64.`, {
      cause: error,
    });
  }
}

/** An address without its query, which may be signed: whoever reads it could fetch the file. */
function publicPart(uri: string): string {
  const url = URL.parse(uri);
  return url === null ? uri : `${url.origin}${url.pathname}`;
}

function nameIn(uri: string): string {
  const last = URL.parse(uri)?.pathname.split('/').at(-1) ?? '';
  try {
    return decodeURIComponent(last) || 'file';
  } catch {
    return last;
  }
}
