import {
  AgentCard,
  CancelTaskRequest,
  DeleteTaskPushNotificationConfigRequest,
  GetExtendedAgentCardRequest,
  GetTaskPushNotificationConfigRequest,
  GetTaskRequest,
  ListTaskPushNotificationConfigsRequest,
  ListTaskPushNotificationConfigsResponse,
  ListTasksRequest,
  ListTasksResponse,
  SendMessageRequest,
  SendMessageResponse,
  StreamResponse,
  SubscribeToTaskRequest,
  Task,
  TaskPushNotificationConfig,
} from '@a2a-js/sdk';
import { A2AService } from '@a2a-js/sdk/server/grpc';
import type { ServiceDefinition } from '@grpc/grpc-js';
import type { A2aErrorReason } from '../errors/a2a-error.ts';
import type { ProtocolVersion } from '../protocol/model.ts';

/** A gRPC service of A2A, as calls of the JSON-RPC of its version. */
export interface GrpcBinding {
  version: ProtocolVersion;
  service: ServiceDefinition;
  /** By the names in the service. */
  methods: Readonly<Record<string, GrpcMethod>>;
  /** Errors whose status is another than in 1.0. */
  statusNames?: Partial<Record<A2aErrorReason, string>>;
}

export interface GrpcMethod {
  /** The JSON-RPC method. */
  name: string;
  /** Its parameters, of the decoded message. */
  params(message: never): unknown;
  /** The message, of a result or a frame. */
  message(result: unknown): unknown;
}

/** The codecs of the SDK: protocol buffers to the JSON of 1.0 and back. */
interface Encoder {
  toJSON(message: never): unknown;
}

interface Decoder {
  fromJSON(value: unknown): unknown;
}

const empty: Decoder = { fromJSON: () => ({}) };

function method(name: string, request: Encoder, response: Decoder): GrpcMethod {
  return { name, params: request.toJSON, message: response.fromJSON };
}

/** 1.0: `lf.a2a.v1.A2AService`. */
export const bindingV10: GrpcBinding = {
  version: '1.0',
  service: A2AService,
  methods: {
    sendMessage: method('SendMessage', SendMessageRequest, SendMessageResponse),
    sendStreamingMessage: method('SendStreamingMessage', SendMessageRequest, StreamResponse),
    getTask: method('GetTask', GetTaskRequest, Task),
    listTasks: method('ListTasks', ListTasksRequest, ListTasksResponse),
    cancelTask: method('CancelTask', CancelTaskRequest, Task),
    subscribeToTask: method('SubscribeToTask', SubscribeToTaskRequest, StreamResponse),
    createTaskPushNotificationConfig: method(
      'CreateTaskPushNotificationConfig',
      TaskPushNotificationConfig,
      TaskPushNotificationConfig,
    ),
    getTaskPushNotificationConfig: method(
      'GetTaskPushNotificationConfig',
      GetTaskPushNotificationConfigRequest,
      TaskPushNotificationConfig,
    ),
    listTaskPushNotificationConfigs: method(
      'ListTaskPushNotificationConfigs',
      ListTaskPushNotificationConfigsRequest,
      ListTaskPushNotificationConfigsResponse,
    ),
    deleteTaskPushNotificationConfig: method(
      'DeleteTaskPushNotificationConfig',
      DeleteTaskPushNotificationConfigRequest,
      empty,
    ),
    getExtendedAgentCard: method('GetExtendedAgentCard', GetExtendedAgentCardRequest, AgentCard),
  },
};
