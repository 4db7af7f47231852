import type {
  Artifact as SdkArtifact,
  Message as SdkMessage,
  Part as SdkPart,
  Task as SdkTask,
  SendMessageRequest,
} from '@a2a-js/sdk';
import { Role, TaskState as SdkState } from '@a2a-js/sdk';
import type { Artifact, Message, Part } from '../protocol/model.ts';
import { type RemoteReply, type RemoteState, replyOfMessage, replyOfTask } from './remote-reply.ts';
import type { OutgoingMessage } from './types.ts';

/** Between the SDK's objects and ours. */

export function toRequest(message: OutgoingMessage): SendMessageRequest {
  const { text, contextId = '', taskId = '', messageId, metadata } = message;
  return {
    tenant: '',
    message: {
      messageId: messageId ?? crypto.randomUUID(),
      contextId,
      taskId,
      role: Role.ROLE_USER,
      parts: [
        {
          content: { $case: 'text', value: text },
          metadata: undefined,
          filename: '',
          mediaType: 'text/plain',
        },
      ],
      metadata,
      extensions: [],
      referenceTaskIds: [],
    },
    configuration: configurationOf(message),
    metadata,
  };
}

function configurationOf({ push }: OutgoingMessage): SendMessageRequest['configuration'] {
  if (push === undefined) return undefined;
  const place = { tenant: '', id: '', taskId: '', authentication: undefined };
  return {
    acceptedOutputModes: [],
    taskPushNotificationConfig: { ...place, ...push },
    returnImmediately: false,
  };
}

export function fromResult(result: SdkTask | SdkMessage): RemoteReply {
  if ('messageId' in result) return replyOfMessage(result.parts.map(fromPart), result.contextId || undefined);
  return fromTask(result);
}

export function fromTask(task: SdkTask): RemoteReply {
  return replyOfTask({
    id: task.id,
    contextId: task.contextId,
    state: fromState(task.status?.state),
    artifacts: task.artifacts.map(fromArtifact),
    statusMessage: task.status?.message && fromMessage(task.status.message),
  });
}

export function fromArtifact({ artifactId, name, parts }: SdkArtifact): Artifact {
  return { artifactId, ...(name !== '' && { name }), parts: parts.map(fromPart) };
}

export function fromMessage({ messageId, parts }: SdkMessage): Message {
  return { messageId, role: 'agent', parts: parts.map(fromPart) };
}

const states: Partial<Record<SdkState, RemoteState>> = {
  [SdkState.TASK_STATE_SUBMITTED]: 'submitted',
  [SdkState.TASK_STATE_WORKING]: 'working',
  [SdkState.TASK_STATE_COMPLETED]: 'completed',
  [SdkState.TASK_STATE_FAILED]: 'failed',
  [SdkState.TASK_STATE_CANCELED]: 'canceled',
  [SdkState.TASK_STATE_INPUT_REQUIRED]: 'input-required',
  [SdkState.TASK_STATE_REJECTED]: 'rejected',
  [SdkState.TASK_STATE_AUTH_REQUIRED]: 'auth-required',
};

export function fromState(state: SdkState | undefined): RemoteState {
  return (state === undefined ? undefined : states[state]) ?? 'unknown';
}

function fromPart({ content, metadata, filename, mediaType }: SdkPart): Part {
  const extra = metadata === undefined ? {} : { metadata };
  switch (content?.$case) {
    case 'text':
      return { type: 'text', text: content.value, ...extra };
    case 'data':
      return { type: 'data', data: content.value, ...extra };
    case 'url':
      return { type: 'file', uri: content.value, name: filename, mediaType, ...extra };
    case 'raw':
      return {
        type: 'file',
        bytes: Buffer.from(content.value).toString('base64'),
        name: filename,
        mediaType,
        ...extra,
      };
    default:
      return { type: 'text', text: '' };
  }
}
