import {
  type CardTrust,
  cardTrust,
  createA2aClient,
  type RemoteAgent,
  RemoteAgentError,
  type RemoteReply,
} from '@trunkline/a2a';
import { type AttachedFile, handOnFiles, plainMediaType } from '@trunkline/llm';
import { type Delegate, DelegateError, type DelegateErrorCode } from './delegate-to.ts';

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
  return {
    name,
    description,
    timeoutMs,
    internal: options.peer !== undefined,
    // Our own services know a message again by its key; others may.
    idempotent: options.peer !== undefined,
    async ask(query, { signal, sessionId, principal, idempotencyKey, attach, addOrigins }) {
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
      const said = answerOf(name, reply);
      const { files, notes } = contentsOf(reply);
      const handedOn = await handOnFiles(files, { attach, addOrigins, signal });
      return [said, ...notes, ...handedOn].filter((text) => text !== '').join('\n');
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

function answerOf(name: string, { state, text, statusText, artifacts }: RemoteReply): string {
  switch (state) {
    case 'completed':
      return allText(artifacts) || text;
    case 'input-required':
      return `${name} asks back: ${statusText}`;
    case 'failed':
    case 'rejected':
    case 'canceled':
      throw new DelegateError('delegate_failed', `${name} did not finish: ${statusText || state}.`);
    default:
      throw new DelegateError('delegate_silent', `${name} has begun but gave no answer yet.`);
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
const MAX_ADDRESS = 2000;
/** Tool calls, thoughts and sources of our own services: how the answer came about, and no part of it. */
const OWN_TYPES = 'application/vnd.trunkline.';

/** What an answer holds besides its text: files, and words for data, links and what does not fit. */
function contentsOf({ artifacts }: RemoteReply) {
  const files: AttachedFile[] = [];
  const notes: string[] = [];
  for (const part of artifacts.flatMap(({ parts }) => parts))
    if (part.type === 'data') {
      if (!String(part.metadata?.mimeType ?? '').startsWith(OWN_TYPES)) notes.push(dataText(part.data));
    } else if (part.type === 'file') {
      const { name = 'file', bytes, uri = '' } = part;
      const mediaType = plainMediaType(part.mediaType);
      if (bytes === undefined)
        notes.push(
          uri.length > MAX_ADDRESS
            ? `(${name}, ${mediaType}, was left out: its address is too long. Say so.)`
            : `(${name}, ${mediaType}, is at ${uri} and was not fetched.)`,
        );
      else if (files.length === MAX_FILES)
        notes.push(`(${name} was left out: ${MAX_FILES} files are taken of one answer. Say so.)`);
      else files.push({ name, mediaType, bytes: Buffer.from(bytes, 'base64') });
    }
  return { files, notes };
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
