import { readFile } from 'node:fs/promises';
import { isIP } from 'node:net';
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
import { encodeGrpcStatusDetails, GRPC_STATUS_DETAILS_BIN } from '@a2a-js/sdk/errors/grpc';
import { A2AService } from '@a2a-js/sdk/server/grpc';
import { BinaryReader } from '@bufbuild/protobuf/wire';
import {
  type handleServerStreamingCall,
  type handleUnaryCall,
  Metadata,
  Server,
  ServerCredentials,
  type ServerUnaryCall,
  type ServerWritableStream,
  type ServiceDefinition,
  type ServiceError,
  status,
  type UntypedServiceImplementation,
} from '@grpc/grpc-js';
import type { AcceptConnection } from '@trunkline/http';
import { errorMessage } from '@trunkline/std';
import type { Logger } from '../protocol/model.ts';
import { callService, RpcFailure } from './rpc-call.ts';

export interface GrpcServerOptions {
  host: string;
  /** 0 takes any free port. */
  port: number;
  /** Of the variables, to name the one that is to be changed. */
  prefix: string;
  /** Files in PEM form; without them there is no encryption. */
  tls?: { certFile: string; keyFile: string } | undefined;
  /** Hands a connection to the HTTP server of the service. */
  accept: AcceptConnection;
  logger: Logger;
}

export interface RunningGrpcServer {
  readonly port: number;
  stop(): Promise<void>;
}

/** A message may be as large as a body that the service takes over HTTP. */
const largestMessage = 1024 * 1024;
/** Keys are checked after a message was decoded, and an empty part takes two bytes on the wire but hundreds in memory. */
const mostNumbers = 100_000;
const mostStreams = 100;
const stopWithinMs = 2_000;

/** The codecs of a call: protocol buffers to the JSON of 1.0 and back. */
interface Codec {
  toJSON(message: never): unknown;
}

interface Decoder {
  fromJSON(value: unknown): unknown;
}

const empty: Decoder = { fromJSON: () => ({}) };

const unary: Record<string, [method: string, request: Codec, response: Decoder]> = {
  sendMessage: ['SendMessage', SendMessageRequest, SendMessageResponse],
  getTask: ['GetTask', GetTaskRequest, Task],
  listTasks: ['ListTasks', ListTasksRequest, ListTasksResponse],
  cancelTask: ['CancelTask', CancelTaskRequest, Task],
  createTaskPushNotificationConfig: [
    'CreateTaskPushNotificationConfig',
    TaskPushNotificationConfig,
    TaskPushNotificationConfig,
  ],
  getTaskPushNotificationConfig: [
    'GetTaskPushNotificationConfig',
    GetTaskPushNotificationConfigRequest,
    TaskPushNotificationConfig,
  ],
  listTaskPushNotificationConfigs: [
    'ListTaskPushNotificationConfigs',
    ListTaskPushNotificationConfigsRequest,
    ListTaskPushNotificationConfigsResponse,
  ],
  deleteTaskPushNotificationConfig: [
    'DeleteTaskPushNotificationConfig',
    DeleteTaskPushNotificationConfigRequest,
    empty,
  ],
  getExtendedAgentCard: ['GetExtendedAgentCard', GetExtendedAgentCardRequest, AgentCard],
};

const streaming: Record<string, [method: string, request: Codec]> = {
  sendStreamingMessage: ['SendStreamingMessage', SendMessageRequest],
  subscribeToTask: ['SubscribeToTask', SubscribeToTaskRequest],
};

/**
 * A2A 1.0 over gRPC. Each call becomes a JSON-RPC request to the service's own HTTP server, over a connection in memory:
 * keys, limits, log and engine are the same, and there is no second door to guard.
 */
export async function startGrpcServer(options: GrpcServerOptions): Promise<RunningGrpcServer> {
  const server = new Server({
    'grpc.max_receive_message_length': largestMessage,
    'grpc.max_concurrent_streams': mostStreams,
    'grpc.keepalive_time_ms': 60_000,
  });
  server.addService(boundedService(), implementation(options));
  const credentials = await credentialsOf(options);
  const port = await bind(server, options, credentials);
  return { port, stop: () => stopServer(server) };
}

/** The service of the SDK, which refuses to decode a message of too many fields. */
function boundedService(): ServiceDefinition {
  const service: ServiceDefinition = A2AService;
  const methods = Object.entries(service).map(([name, method]) => {
    // The SDK's codecs take bytes or a reader of them.
    const decode = (bytes: Buffer): unknown => method.requestDeserialize(boundedReader(bytes) as never);
    return [name, { ...method, requestDeserialize: decode }];
  });
  return Object.fromEntries(methods);
}

/** Tags and lengths are what it counts: every field has at least one. */
function boundedReader(bytes: Uint8Array): BinaryReader {
  const reader = new BinaryReader(bytes);
  const read = reader.uint32.bind(reader);
  let count = 0;
  reader.uint32 = () => {
    count += 1;
    if (count > mostNumbers) throw new RangeError('the message has too many fields');
    return read();
  };
  return reader;
}

function implementation(options: GrpcServerOptions): UntypedServiceImplementation {
  const simple = Object.entries(unary).map(([name, [method, request, response]]) => [
    name,
    answerOnce(options, method, request, response),
  ]);
  const streams = Object.entries(streaming).map(([name, [method, request]]) => [
    name,
    answerStream(options, method, request),
  ]);
  return Object.fromEntries([...simple, ...streams]);
}

type AnswerOnce = (...given: Parameters<handleUnaryCall<unknown, unknown>>) => Promise<void>;

type AnyCall = ServerUnaryCall<unknown, unknown> | ServerWritableStream<unknown, unknown>;

function open(options: GrpcServerOptions, call: AnyCall, method: string, request: Codec) {
  const controller = new AbortController();
  call.on('cancelled', () => controller.abort());
  return callService(options.accept, {
    method,
    params: request.toJSON(call.request as never),
    header: (name) => call.metadata.get(name).map(String).join(',') || undefined,
    peer: addressIn(call.getPeer()),
    signal: controller.signal,
  });
}

function answerOnce(
  options: GrpcServerOptions,
  method: string,
  request: Codec,
  response: Decoder,
): handleUnaryCall<unknown, unknown> {
  const answer: AnswerOnce = async (call, callback) => {
    try {
      const { extensions, frames } = await open(options, call, method, request);
      for await (const result of frames) {
        call.sendMetadata(headersOf(extensions));
        callback(null, response.fromJSON(result));
        return;
      }
      throw new RpcFailure('INTERNAL', 'the service gave no answer');
    } catch (error) {
      callback(toServiceError(error, call, options.logger));
    }
  };
  return (call, callback) => void answer(call, callback);
}

function answerStream(
  options: GrpcServerOptions,
  method: string,
  request: Codec,
): handleServerStreamingCall<unknown, unknown> {
  const answer = async (call: ServerWritableStream<unknown, unknown>) => {
    try {
      const { extensions, frames } = await open(options, call, method, request);
      call.sendMetadata(headersOf(extensions));
      for await (const frame of frames) {
        if (call.cancelled) return;
        // A reader that does not follow slows the connection behind, which has a limit of its own.
        if (!call.write(StreamResponse.fromJSON(frame))) await drained(call);
      }
      call.end();
    } catch (error) {
      if (!call.cancelled) call.emit('error', toServiceError(error, call, options.logger));
    }
  };
  return (call) => void answer(call);
}

function drained(call: ServerWritableStream<unknown, unknown>): Promise<void> {
  return new Promise((resolve) => {
    const done = () => {
      call.off('drain', done);
      call.off('cancelled', done);
      resolve();
    };
    call.once('drain', done);
    call.once('cancelled', done);
  });
}

function headersOf(extensions: string | undefined): Metadata {
  const metadata = new Metadata();
  if (extensions !== undefined) metadata.set('a2a-extensions', extensions);
  return metadata;
}

function toServiceError(error: unknown, call: AnyCall, logger: Logger): Partial<ServiceError> {
  if (!(error instanceof RpcFailure)) {
    if (!call.cancelled) logger.error({ err: error }, 'gRPC call failed');
    return { code: status.INTERNAL, details: 'Internal error: the server log has the details' };
  }
  const code = status[error.statusName as keyof typeof status] ?? status.UNKNOWN;
  const metadata = new Metadata();
  if (error.reason !== undefined)
    metadata.set(GRPC_STATUS_DETAILS_BIN, encodeGrpcStatusDetails(code, error.message, error.reason));
  return { code, details: error.message, metadata };
}

/** `ipv4:` and `ipv6:` stand before the address in some versions, the port after it. */
function addressIn(peer: string): string {
  const plain = peer
    .replace(/^ipv[46]:/, '')
    .replace(/:\d+$/, '')
    .replace(/^\[|\]$/g, '');
  return isIP(plain) === 0 ? '' : plain;
}

async function credentialsOf({ host, tls, prefix, logger }: GrpcServerOptions): Promise<ServerCredentials> {
  if (tls !== undefined) {
    const cert_chain = await readPem(tls.certFile, `${prefix}_GRPC_CERT`);
    const private_key = await readPem(tls.keyFile, `${prefix}_GRPC_KEY`);
    return ServerCredentials.createSsl(null, [{ cert_chain, private_key }]);
  }
  if (!/^(127\.|localhost$|::1$)/.test(host))
    logger.warn({ host }, 'gRPC listens beyond this machine without encryption; set its certificate and key');
  return ServerCredentials.createInsecure();
}

async function readPem(file: string, variable: string): Promise<Buffer> {
  try {
    return await readFile(file);
  } catch (cause) {
    throw new Error(`gRPC cannot read ${file}: ${errorMessage(cause)}. Check ${variable}.`, { cause });
  }
}

function bind(
  server: Server,
  { host, port, prefix }: GrpcServerOptions,
  credentials: ServerCredentials,
): Promise<number> {
  const address = `${host.includes(':') ? `[${host}]` : host}:${port}`;
  return new Promise((resolve, reject) => {
    server.bindAsync(address, credentials, (error, bound) => {
      if (error === null) resolve(bound);
      else
        reject(
          new Error(
            `gRPC cannot listen on ${address}: ${errorMessage(error)}. Choose another port with ${prefix}_GRPC_PORT.`,
          ),
        );
    });
  });
}

/** Calls under way may end; streams, which may take hours, are cut off then. */
async function stopServer(server: Server): Promise<void> {
  const ended = new Promise<void>((resolve) => server.tryShutdown(() => resolve()));
  const timer = setTimeout(() => server.forceShutdown(), stopWithinMs);
  await ended;
  clearTimeout(timer);
}
