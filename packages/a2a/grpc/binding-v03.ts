import { LegacyA2AService } from '@a2a-js/sdk/compat/v0_3/server/grpc';
import { isObject, type JsonObject } from '../dialects/read/values.ts';
import type { GrpcBinding } from './binding.ts';

/**
 * 0.3: `a2a.v1.A2AService`. The SDK brings the codecs, but no way between its messages and the JSON of 0.3. Of a part, its
 * protocol buffers hold neither `metadata` nor the name of a file, of a message no `referenceTaskIds`.
 */
export const bindingV03: GrpcBinding = {
  version: '0.3',
  service: LegacyA2AService,
  methods: {
    sendMessage: { name: 'message/send', params: sendParams, message: payload },
    sendStreamingMessage: { name: 'message/stream', params: sendParams, message: payload },
    getTask: {
      name: 'tasks/get',
      // In this version, 0 means all.
      params: ({ name, historyLength }: JsonObject) => ({
        ...placeOf(name),
        historyLength: historyLength || undefined,
      }),
      message: taskMessage,
    },
    cancelTask: { name: 'tasks/cancel', params: namedTask, message: taskMessage },
    taskSubscription: { name: 'tasks/resubscribe', params: namedTask, message: payload },
    createTaskPushNotificationConfig: {
      name: 'tasks/pushNotificationConfig/set',
      params: ({ parent, configId, config }: JsonObject) => {
        const { pushNotificationConfig } = objectOf(config);
        const id = configId || objectOf(pushNotificationConfig).id;
        return {
          taskId: placeOf(parent).id,
          pushNotificationConfig: isObject(pushNotificationConfig)
            ? { ...pushNotificationConfig, id }
            : undefined,
        };
      },
      message: configMessage,
    },
    getTaskPushNotificationConfig: {
      name: 'tasks/pushNotificationConfig/get',
      params: namedConfig,
      message: configMessage,
    },
    listTaskPushNotificationConfig: {
      name: 'tasks/pushNotificationConfig/list',
      params: ({ parent }: JsonObject) => placeOf(parent),
      message: (configs) => ({ configs: listOf(configs).map(configMessage), nextPageToken: '' }),
    },
    deleteTaskPushNotificationConfig: {
      name: 'tasks/pushNotificationConfig/delete',
      params: namedConfig,
      message: () => ({}),
    },
    getAgentCard: { name: 'agent/getAuthenticatedExtendedCard', params: () => ({}), message: cardMessage },
  },
  // As the SDKs of 0.3 map them, whose clients tell errors by the status alone.
  statusNames: { PUSH_NOTIFICATION_NOT_SUPPORTED: 'UNIMPLEMENTED', UNSUPPORTED_OPERATION: 'UNIMPLEMENTED' },
};

/** `tasks/{id}`, or `tasks/{id}/pushNotificationConfigs/{id}`, where callers choose the second id. */
function placeOf(name: unknown): { id: string; pushNotificationConfigId?: string } {
  const [, id = '', config] =
    /^tasks\/([^/]+)(?:\/pushNotificationConfigs(?:\/(.*))?)?$/s.exec(String(name)) ?? [];
  return { id, ...(config && { pushNotificationConfigId: config }) };
}

/** The JSON of 0.3 may leave the config out, which means all of them. A name without it is malformed: false is refused. */
function namedConfig({ name }: JsonObject): object {
  return { pushNotificationConfigId: false, ...placeOf(name) };
}

function namedTask({ name }: JsonObject): object {
  return placeOf(name);
}

function sendParams({ request, configuration, metadata }: JsonObject): object {
  if (!isObject(configuration)) return { message: messageParams(request), metadata };
  const { acceptedOutputModes, pushNotification, historyLength, blocking } = configuration;
  return {
    message: messageParams(request),
    configuration: {
      acceptedOutputModes,
      pushNotificationConfig: pushNotification,
      // In this version, 0 means all.
      historyLength: historyLength || undefined,
      blocking,
    },
    metadata,
  };
}

function messageParams(message: unknown): object | undefined {
  if (!isObject(message)) return undefined;
  const { role, content, ...rest } = message;
  return { ...rest, role: roles[Number(role)], parts: listOf(content).map(partParams) };
}

const roles = [undefined, 'user', 'agent'];

/** A part without content is left without a kind, and refused as such. */
function partParams(container: unknown): object {
  const { $case: kind, value } = objectOf(objectOf(container).part);
  if (kind === 'text') return { kind, text: value };
  if (kind === 'data') return { kind, data: objectOf(value).data ?? {} };
  if (kind !== 'file') return {};
  const { file, mimeType } = objectOf(value);
  const { $case: form, value: content } = objectOf(file);
  const held = form === 'fileWithUri' ? { uri: content } : { bytes: base64(content) };
  return { kind, file: { ...held, mimeType: mimeType || undefined } };
}

function base64(bytes: unknown): string | undefined {
  return bytes instanceof Uint8Array ? Buffer.from(bytes).toString('base64') : undefined;
}

/** A result or a frame, which says what it is by its kind. */
function payload(result: unknown): object {
  const event = objectOf(result);
  switch (event.kind) {
    case 'task':
      return { payload: { $case: 'task', value: taskMessage(event) } };
    case 'status-update':
      return { payload: { $case: 'statusUpdate', value: { ...event, status: statusMessage(event.status) } } };
    case 'artifact-update': {
      const { append = false, lastChunk = false } = event;
      const value = { ...event, artifact: artifactMessage(event.artifact), append, lastChunk };
      return { payload: { $case: 'artifactUpdate', value } };
    }
    default:
      return { payload: { $case: 'msg', value: agentMessage(event) } };
  }
}

function taskMessage(result: unknown): object {
  const { id, contextId, status, artifacts, history, metadata } = objectOf(result);
  return {
    id,
    contextId,
    status: statusMessage(status),
    artifacts: listOf(artifacts).map(artifactMessage),
    history: listOf(history).map(agentMessage),
    metadata,
  };
}

const states = [
  'unknown',
  'submitted',
  'working',
  'completed',
  'failed',
  'canceled',
  'input-required',
  'rejected',
  'auth-required',
];

function statusMessage(status: unknown): object {
  const { state, message, timestamp } = objectOf(status);
  const update = message === undefined ? undefined : agentMessage(message);
  return { state: Math.max(0, states.indexOf(String(state))), update, timestamp };
}

function agentMessage(message: unknown): object {
  const { role, parts, contextId = '', taskId = '', extensions = [], ...rest } = objectOf(message);
  const content = listOf(parts).map(partMessage);
  return { ...rest, contextId, taskId, extensions, role: Math.max(0, roles.indexOf(String(role))), content };
}

function artifactMessage(artifact: unknown): object {
  const { parts, name = '', description = '', extensions = [], ...rest } = objectOf(artifact);
  return { ...rest, name, description, extensions, parts: listOf(parts).map(partMessage) };
}

function partMessage(part: unknown): object {
  const { kind, text, data, file } = objectOf(part);
  if (kind === 'text') return { part: { $case: 'text', value: text } };
  if (kind === 'data') return { part: { $case: 'data', value: { data } } };
  const { uri, bytes, mimeType = '' } = objectOf(file);
  const held =
    uri === undefined
      ? { $case: 'fileWithBytes', value: Buffer.from(String(bytes), 'base64') }
      : { $case: 'fileWithUri', value: uri };
  return { part: { $case: 'file', value: { file: held, mimeType } } };
}

function configMessage(config: unknown): object {
  const { taskId, pushNotificationConfig } = objectOf(config);
  const { id, url } = objectOf(pushNotificationConfig);
  return {
    name: `tasks/${taskId}/pushNotificationConfigs/${id}`,
    pushNotificationConfig: { id, url, token: '', authentication: undefined },
  };
}

function cardMessage(result: unknown): object {
  const card = objectOf(result);
  const { extensions, ...capabilities } = objectOf(card.capabilities);
  const schemes = Object.entries(objectOf(card.securitySchemes));
  return {
    ...card,
    documentationUrl: card.documentationUrl ?? '',
    additionalInterfaces: listOf(card.additionalInterfaces),
    capabilities: {
      ...capabilities,
      extensions: listOf(extensions).map((extension) => ({ required: false, ...objectOf(extension) })),
    },
    securitySchemes: Object.fromEntries(schemes.map(([name, scheme]) => [name, schemeMessage(scheme)])),
    security: listOf(card.security).map((names) => ({
      schemes: Object.fromEntries(Object.keys(objectOf(names)).map((name) => [name, { list: [] }])),
    })),
    skills: listOf(card.skills).map((skill) => ({
      examples: [],
      inputModes: [],
      outputModes: [],
      security: [],
      ...objectOf(skill),
    })),
    signatures: [],
  };
}

/** Those that a card of ours can name. */
function schemeMessage(given: unknown): object {
  const { type, scheme, name, in: location } = objectOf(given);
  const value = { description: '', ...(type === 'http' ? { scheme, bearerFormat: '' } : { name, location }) };
  return { scheme: { $case: type === 'http' ? 'httpAuthSecurityScheme' : 'apiKeySecurityScheme', value } };
}

function objectOf(value: unknown): JsonObject {
  return isObject(value) ? value : {};
}

function listOf(value: unknown): unknown[] {
  return Array.isArray(value) ? value : [];
}
