import { A2aError } from '../errors/a2a-error.ts';
import type {
  Metadata,
  Part,
  ProtocolVersion,
  Task,
  TaskEvent,
  TaskState,
  Usage,
} from '../protocol/model.ts';
import { createDialect, type Dialect, type Spelling } from './dialect.ts';
import { isObject } from './read/values.ts';

const spellingOfV03: Spelling = {
  name: 'v03',
  version: '0.3',
  strict: false,
  protobuf: false,
  contentType: 'application/json',
  hasKinds: true,
  omitsEmptyLists: false,
  partsField: 'parts',
  state: (state) => state,
  role: (role) => role,
  part: partOfV03,
  taskFields: (task) => ({ metadata: task.metadata, data: spentV03(task) }),
  statusFields: (event) => ({ final: event.state !== 'working', metadata: spentV03(event) }),
  pushConfig: ({ id, taskId, url }) => ({ taskId, pushNotificationConfig: { id, url } }),
  pushConfigList: (configs) => configs,
  deleted: null,
};

/** 0.3 as the contract's JSON-RPC wire and its REST aliases have it: a `kind` on everything, states as plain words. */
export const v03: Dialect = createDialect(spellingOfV03);

/** 1.0, the same over JSON-RPC and REST: protocol buffers as JSON. What a turn cost stands in the metadata. */
export const v10: Dialect = createDialect({
  name: 'v10',
  version: '1.0',
  strict: true,
  protobuf: false,
  contentType: 'application/a2a+json',
  hasKinds: false,
  omitsEmptyLists: true,
  partsField: 'parts',
  state: (state) => stateNames[state],
  role: roleName,
  part: partOfV10,
  taskFields: (task) => ({ metadata: withSpent(task.metadata, task) }),
  statusFields: (event) => ({ metadata: withSpent(undefined, event) }),
  pushConfig: ({ id, taskId, url }) => ({ id, taskId, url }),
  pushConfigList: (configs) => ({ configs, nextPageToken: '' }),
  deleted: {},
});

/** 0.3 under `/v1`: the protocol buffers of that version as JSON, which differ from its JSON-RPC forms. */
export const v03Rest: Dialect = createDialect({
  ...spellingOfV03,
  name: 'v03-rest',
  protobuf: true,
  hasKinds: false,
  partsField: 'content',
  // This version wrote the word with two l.
  state: (state) => (state === 'canceled' ? 'TASK_STATE_CANCELLED' : stateNames[state]),
  role: roleName,
  part(part) {
    if (part.type === 'text') return { text: part.text };
    if (part.type === 'data') return { data: { data: dataObject(part.data) } };
    const { bytes, uri, name, mediaType } = part;
    return { file: { fileWithBytes: bytes, fileWithUri: uri, mimeType: mediaType, name } };
  },
  taskFields: ({ metadata }) => ({ metadata }),
  statusFields: ({ state }) => ({ final: state !== 'working' }),
  pushConfig: ({ id, taskId, url }) => ({
    name: `tasks/${taskId}/pushNotificationConfigs/${id}`,
    pushNotificationConfig: { id, url },
  }),
  pushConfigList: (configs) => ({ configs }),
});

/** A part as 0.3 writes it; a function of its own, as a client needs it without the rest of the dialect. */
export function partOfV03(part: Part) {
  if (part.type === 'text') return { kind: 'text', text: part.text, metadata: labelled(part) };
  if (part.type === 'data') return { kind: 'data', data: dataObject(part.data), metadata: labelled(part) };
  const { bytes, uri, name, mediaType, metadata } = part;
  return { kind: 'file', file: { bytes, uri, name, mimeType: mediaType }, metadata };
}

/** A part as 1.0 writes it. */
export function partOfV10(part: Part) {
  const { name: filename, mediaType, metadata } = part;
  if (part.type === 'text') return { text: part.text, filename, mediaType, metadata };
  if (part.type === 'data') return { data: part.data, filename, mediaType, metadata };
  return { raw: part.bytes, url: part.uri, filename, mediaType, metadata };
}

/** Chooses the dialect by the A2A-Version header; `legacy` is the form of 0.3 at this place. */
export function chooseDialect(header: string | undefined, legacy: Dialect = v03): Dialect {
  return negotiateVersion(header) === '1.0' ? v10 : legacy;
}

/** Without a header the version is 0.3. A patch number does not matter. */
function negotiateVersion(header = ''): ProtocolVersion {
  const wanted = header.trim();
  if (wanted === '') return '0.3';
  const [, major, minor = '0'] = /^(\d+)(?:\.(\d+))?(?:\.\d+)?$/.exec(wanted) ?? [];
  const version = `${major}.${minor}`;
  if (version === '0.3' || version === '1.0') return version;
  throw new A2aError('VERSION_NOT_SUPPORTED', 'Version not supported: this agent speaks A2A 0.3 and 1.0');
}

/**
 * What a webhook gets, in the version in which it was registered. On completion it holds the answer, so that the receiver
 * need not ask for it: an update of 0.3 has a place for it, in 1.0 the whole task goes out.
 */
export function pushNotification(version: ProtocolVersion, task: Task, event: TaskEvent) {
  const dialect = version === '1.0' ? v10 : v03;
  const { contentType } = dialect;
  const frame = dialect.eventFrame(task, event);
  if (event.type !== 'status' || event.state !== 'completed') return { contentType, body: frame };
  if (version === '1.0') return { contentType, body: v10.taskResult(task, { historyLength: 0 }) };
  const [answer] = task.artifacts;
  return { contentType, body: answer === undefined ? frame : { ...frame, artifact: v03.artifact(answer) } };
}

/** A state in the spelling of either version, or undefined. Tasks of other agents may also be `submitted`. */
export function stateOfName(name: string): TaskState | 'submitted' | undefined {
  const plain = name.startsWith('TASK_STATE_')
    ? name.slice('TASK_STATE_'.length).toLowerCase().replaceAll('_', '-')
    : name;
  if (plain === 'cancelled') return 'canceled';
  return Object.hasOwn(stateNames, plain) || plain === 'submitted' ? (plain as TaskState) : undefined;
}

/** The states as 1.0 writes them. */
export const stateNames: Record<TaskState, string> = {
  working: 'TASK_STATE_WORKING',
  'input-required': 'TASK_STATE_INPUT_REQUIRED',
  'auth-required': 'TASK_STATE_AUTH_REQUIRED',
  completed: 'TASK_STATE_COMPLETED',
  failed: 'TASK_STATE_FAILED',
  canceled: 'TASK_STATE_CANCELED',
  rejected: 'TASK_STATE_REJECTED',
};

function roleName(role: 'user' | 'agent'): string {
  return role === 'user' ? 'ROLE_USER' : 'ROLE_AGENT';
}

/** Text and data of 0.3 have no place for their type and name but the metadata. */
function labelled({ mediaType, name, metadata }: Part): Metadata | undefined {
  if (mediaType === undefined && name === undefined) return metadata;
  return { ...(mediaType && { mimeType: mediaType }), ...(name && { filename: name }), ...metadata };
}

/** 0.3 allows only objects as data. */
function dataObject(data: unknown): object {
  return isObject(data) ? data : { value: data };
}

/** What a turn used up; undefined until it has ended. */
interface Spent {
  usage?: Usage;
  durationMs?: number;
}

function spentV03({ usage, durationMs }: Spent): object | undefined {
  if (durationMs === undefined) return undefined;
  const { inputTokens = 0, outputTokens = 0, totalTokens = 0, costUsd, estimated } = usage ?? {};
  return {
    usage: {
      input_tokens: inputTokens,
      output_tokens: outputTokens,
      total_tokens: totalTokens,
      cost_usd: costUsd,
      estimated,
    },
    durationMs,
  };
}

function withSpent(metadata: Task['metadata'], { usage, durationMs }: Spent): object | undefined {
  return durationMs === undefined ? metadata : { ...metadata, ...(usage && { usage }), durationMs };
}
