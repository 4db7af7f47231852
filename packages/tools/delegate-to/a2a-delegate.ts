import { hash } from 'node:crypto';
import {
  type CardTrust,
  cardTrust,
  createA2aClient,
  type RemoteAgent,
  RemoteAgentError,
  type RemoteReply,
  sourcesIn,
} from '@trunkline/a2a';
import { createFileFetch } from '@trunkline/http';
import { type AttachedFile, addressSubject, handOnFiles, plainMediaType } from '@trunkline/llm';
import { BoundedMap, errorMessage } from '@trunkline/std';
import { type Delegate, type DelegateContext, DelegateError, type DelegateErrorCode } from './delegate-to.ts';

export interface A2aDelegateOptions extends CardTrust {
  name: string;
  description: string;
  /** Address of the agent: of its service, its endpoint or its card. One without a card is asked there as it stands. */
  url: string;
  /** The address is that of a service of ours, or stands in a `PEER_*_URL`: it is always asked at `/a2a`, without a look at its card. */
  isBase?: boolean;
  /** Set for one of our own services, instead of a token. */
  peer?: RemoteAgent['peer'];
  /** Sent as a bearer. */
  token?: string | undefined;
  /** The agent's skill that is to be used. */
  skill?: string | undefined;
  timeoutMs?: number | undefined;
}

/** A task of the other agent that waits for an answer from this conversation. */
interface Parked {
  taskId: string;
  contextId: string | undefined;
}

const MOST_PARKED = 1000;
/** The caller's signal ends a call long before. */
const TIMEOUT_MS = 3_600_000;

/** An agent that speaks A2A. When it asks back, the next query of the same conversation is the answer. */
export function createA2aDelegate(options: A2aDelegateOptions): Delegate {
  const { name, description, timeoutMs } = options;
  const client = createA2aClient();
  let known: RemoteAgent | undefined = options.isBase || options.peer ? atPath(options) : undefined;
  /** Where the agent's card says; it is read until there is one. */
  const find = async (signal: AbortSignal): Promise<RemoteAgent> => {
    if (known !== undefined) return known;
    const named = { name, url: options.url, ...credentialsOf(options), ...cardTrust(options) };
    const plain: RemoteAgent = { ...named, protocol: '0.3' };
    try {
      const { description: about, skills } = await client.card(named, { signal });
      // Without a card the client assumes one, and that is bare.
      if (about === '' && skills.length === 0) return plain;
      known = named;
      return named;
    } catch (error) {
      // What the card says of its agent's place or signature is for the operator to settle, not to be passed by.
      const isSettled =
        error instanceof RemoteAgentError && !['agent_elsewhere', 'agent_unverified'].includes(error.code);
      if (!isSettled) throw error;
      return plain;
    }
  };
  const parked = new Map<string, Parked>();
  const fresh = new FreshParts();
  const { origin } = new URL(options.url);
  return {
    name,
    description,
    timeoutMs,
    internal: options.peer !== undefined,
    // Our own services know a message again by its key; others may.
    idempotent: options.peer !== undefined,
    answers: (sessionId) => parked.has(sessionId),
    async ask(query, context) {
      const { signal, sessionId, principal, idempotencyKey } = context;
      const metadata = { ...skillOf(options), ...(idempotencyKey && { idempotencyKey }) };
      const message = {
        text: query,
        ...(idempotencyKey && { messageId: idempotencyKey }),
        ...(Object.keys(metadata).length > 0 && { metadata }),
        ...given(parked.get(sessionId)),
      };
      parked.delete(sessionId);
      const reply = await client
        .send(await find(signal), message, { signal, timeoutMs: TIMEOUT_MS, principal })
        .catch(rethrow);
      if (reply.state === 'input-required') remember(parked, sessionId, reply);
      if (isUnderWay(reply))
        throw new DelegateError('delegate_silent', `${name} has begun but gave no answer yet.`);
      const { files, notes } = await contentsOf(fresh.of(reply), origin, context);
      const more = [...notes, ...(await handOnFiles(files, context))];
      return [answerOf(name, reply, more), ...more].filter((text) => text !== '').join('\n');
    },
  };
}

function credentialsOf({ token }: A2aDelegateOptions) {
  return token === undefined ? {} : { credentials: { bearer: token } };
}

function atPath(options: A2aDelegateOptions): RemoteAgent {
  const { name, url, peer } = options;
  const address = new URL(url);
  if (!/\/a2a\/?$/.test(address.pathname)) address.pathname = `${address.pathname.replace(/\/+$/, '')}/a2a`;
  return {
    name,
    url: address.href,
    protocol: '0.3',
    ...credentialsOf(options),
    ...cardTrust(options),
    ...(peer && { peer }),
  };
}

function skillOf({ skill = '' }: A2aDelegateOptions) {
  return skill === '' ? {} : { skill };
}

function given(task: Parked | undefined) {
  if (task === undefined) return {};
  return { taskId: task.taskId, ...(task.contextId !== undefined && { contextId: task.contextId }) };
}

function remember(parked: Map<string, Parked>, sessionId: string, { taskId, contextId }: RemoteReply): void {
  if (taskId !== undefined) parked.set(sessionId, { taskId, contextId });
  for (const oldest of parked.keys()) if (parked.size > MOST_PARKED) parked.delete(oldest);
}

function isUnderWay({ state }: RemoteReply): boolean {
  return !['completed', 'input-required', 'failed', 'rejected', 'canceled'].includes(state);
}

/** `more`: what it gave besides, also where it failed. */
function answerOf(
  name: string,
  { state, text, statusText, artifacts }: RemoteReply,
  more: readonly string[],
): string {
  switch (state) {
    case 'completed':
      return allText(artifacts) || text;
    case 'input-required':
      return `${name} asks back: ${statusText}`;
    default:
      throw new DelegateError(
        'delegate_failed',
        [`${name} did not finish: ${statusText || state}.`, ...more].join('\n'),
      );
  }
}

/** An answer may come in several artifacts, and one of them in pieces. */
function allText(artifacts: RemoteReply['artifacts']): string {
  return artifacts
    .map(({ parts }) => parts.map((part) => (part.type === 'text' ? part.text : '')).join(''))
    .filter((text) => text !== '')
    .join('\n');
}

/** Of one answer. */
const MAX_FILES = 10;
const MAX_DATA = 50_000;
const MAX_FETCHED_BYTES = 20 * 2 ** 20;
/** Tool calls and thoughts of our own services: how the answer came about, and no part of it. */
const OWN_TYPES = 'application/vnd.trunkline.';

/** What an answer holds besides its text: files, fetched where it gives links, and words for data and what does not fit. */
async function contentsOf(
  parts: ReturnType<FreshParts['of']>,
  origin: string,
  context: DelegateContext,
): Promise<{ files: AttachedFile[]; notes: string[] }> {
  const files: AttachedFile[] = [];
  const notes: string[] = [];
  for (const part of parts)
    if (part.type === 'data') notes.push(...dataTexts([part]));
    else if (part.type === 'file') {
      const { name = 'file' } = part;
      if (files.length === MAX_FILES)
        notes.push(`(${name} was left out: ${MAX_FILES} files are taken of one answer. Say so.)`);
      else
        try {
          const bytes = await bytesOf(part, origin, context);
          files.push({ name, mediaType: plainMediaType(part.mediaType), bytes });
        } catch (error) {
          context.signal.throwIfAborted();
          notes.push(`(${name} could not be fetched: ${errorMessage(error)} Say so.)`);
        }
    }
  return { files, notes };
}

type FilePart = Extract<ReturnType<FreshParts['of']>[number], { type: 'file' }>;

/** A link may lead to a public address, or to the agent itself, wherever policy lets the call go. */
async function bytesOf(
  { bytes, uri = '' }: FilePart,
  origin: string,
  { signal, attach, permits = () => true }: DelegateContext,
): Promise<Uint8Array> {
  if (bytes !== undefined) return Buffer.from(bytes, 'base64');
  // Nobody would get it: it is left out in words.
  if (attach === undefined) return new Uint8Array();
  const isAllowed = (url: string) => permits(addressSubject(url));
  if (!isAllowed(uri)) throw new Error('policy does not allow its address.');
  const fetch = createFileFetch(MAX_FETCHED_BYTES, origin);
  const answer = await fetch(uri, { signal, allowsRedirect: ({ href }) => isAllowed(href) });
  if (answer.status !== 200) throw new Error(`its address answers with ${answer.status}.`);
  return answer.body;
}

/** The data of another agent's answer, in words, and the pages that it is drawn from. */
export function dataTexts(parts: ReturnType<FreshParts['of']>): string[] {
  const texts = parts.flatMap((part) =>
    part.type !== 'data' || String(part.metadata?.mimeType ?? '').startsWith(OWN_TYPES)
      ? []
      : [dataText(part.data)],
  );
  const sources = sourcesIn(parts).slice(0, MAX_DATA);
  return sources === '' ? texts : [...texts, sources];
}

function dataText(data: unknown): string {
  const text = JSON.stringify(data) ?? '';
  return text.length <= MAX_DATA
    ? `Data: ${text}`
    : `Data, the first ${MAX_DATA} of ${text.length} characters: ${text.slice(0, MAX_DATA)}`;
}

const CODES: Partial<Record<RemoteAgentError['code'], DelegateErrorCode>> = {
  agent_unreachable: 'delegate_unreachable',
  agent_unauthorized: 'delegate_refused',
  agent_unknown_caller: 'delegate_refused',
};

/** The client's words can be spoken as they are. */
function rethrow(error: unknown): never {
  if (!(error instanceof RemoteAgentError)) throw error;
  throw new DelegateError(CODES[error.code] ?? 'delegate_failed', error.message, { cause: error });
}

type Part = RemoteReply['artifacts'][number]['parts'][number];

const mostTasks = 1000;

/** A task that asks back holds all that it has made with its question, and once more with its answer. */
export class FreshParts {
  readonly #seen = new BoundedMap<string, ReadonlySet<string>>(mostTasks);

  /** The parts of a reply's artifacts that its task's last question did not come with; one that changed since is new. */
  of({ taskId = '', state, artifacts }: Pick<RemoteReply, 'taskId' | 'state' | 'artifacts'>): Part[] {
    const seen = this.#seen.get(taskId);
    const parts = artifacts
      .flatMap((artifact) => artifact.parts)
      .map((part) => ({ part, key: hash('sha256', JSON.stringify(part)) }));
    if (state !== 'input-required') this.#seen.delete(taskId);
    else if (taskId !== '') this.#seen.set(taskId, new Set(parts.map(({ key }) => key)));
    return parts.filter(({ key }) => !seen?.has(key)).map(({ part }) => part);
  }
}
