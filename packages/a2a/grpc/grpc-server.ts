import { readFile } from 'node:fs/promises';
import { isIP } from 'node:net';
import { encodeGrpcStatusDetails, GRPC_STATUS_DETAILS_BIN } from '@a2a-js/sdk/errors/grpc';
import { BinaryReader, BinaryWriter } from '@bufbuild/protobuf/wire';
import {
  type handleServerStreamingCall,
  type handleUnaryCall,
  Metadata,
  Server,
  ServerCredentials,
  ServerInterceptingCall,
  type ServerInterceptor,
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
import { bindingV10, type GrpcBinding, type GrpcMethod } from './binding.ts';
import { bindingV03 } from './binding-v03.ts';
import { RpcFailure, ServiceRequest } from './service-request.ts';

export interface GrpcServerOptions {
  host: string;
  /** 0 takes any free port. */
  port: number;
  /** Of the variables, to name the one that is to be changed. */
  prefix: string;
  /** Files in PEM form; without them there is no encryption. */
  tls?: { certFile: string; keyFile: string } | undefined;
  /** Larger messages are refused. */
  messageBytes?: number | undefined;
  /** Hands a connection to the HTTP server of the service. */
  accept: AcceptConnection;
  logger: Logger;
}

export interface RunningGrpcServer {
  readonly port: number;
  stop(): Promise<void>;
}

/** What services take over HTTP, unless they take files. */
const largestMessage = 1024 * 1024;
/** An empty part takes two bytes on the wire but hundreds in memory. */
const mostNumbers = 100_000;
const mostStreams = 100;
const stopWithinMs = 2_000;

const bindings = [bindingV10, bindingV03];

/**
 * A2A over gRPC, in both versions. Each call becomes a JSON-RPC request to the service's own HTTP server, over a connection
 * in memory: keys, limits, log and engine are the same, and there is no second door to guard.
 */
export async function startGrpcServer(options: GrpcServerOptions): Promise<RunningGrpcServer> {
  const requests: OpenRequests = new WeakMap();
  const server = new Server({
    'grpc.max_receive_message_length': options.messageBytes ?? largestMessage,
    'grpc.max_concurrent_streams': mostStreams,
    'grpc.keepalive_time_ms': 60_000,
    interceptors: [admission(options, requests)],
  });
  for (const binding of bindings)
    server.addService(boundedService(binding.service), implementation(binding, requests, options.logger));
  const credentials = await credentialsOf(options);
  const port = await bind(server, options, credentials);
  return { port, stop: () => stopServer(server) };
}

/** The requests to the service, by the metadata of their calls. */
type OpenRequests = WeakMap<Metadata, ServiceRequest>;

/** Opens the request to the service with the metadata of a call. Its message is read, unpacked and decoded once the guards let it in. */
function admission({ accept, logger }: GrpcServerOptions, requests: OpenRequests): ServerInterceptor {
  return ({ path }, call) => {
    const binding = bindings.find(({ service }) =>
      Object.values(service).some((method) => method.path === path),
    );
    if (binding === undefined) return new ServerInterceptingCall(call);
    let request: ServiceRequest | undefined;
    const refused = (error: unknown) =>
      call.sendStatus({ metadata: null, ...toStatus(error, binding, logger) });
    return new ServerInterceptingCall(call, {
      start: (next) =>
        next({
          onReceiveMetadata(metadata, pass) {
            const header = (name: string) => metadata.get(name).map(String).join(',') || undefined;
            const version = header('a2a-version') ?? binding.version;
            if (!isSpoken(version, binding)) return refused(unspoken(version, binding));
            const caller = { version, header, peer: addressIn(call.getPeer()) };
            request = new ServiceRequest(accept, caller, { admitted: () => pass(metadata), refused });
            requests.set(metadata, request);
          },
          onReceiveMessage: (message, pass) => pass(message),
          onReceiveHalfClose: (pass) => pass(),
          onCancel: () => request?.abort(),
        }),
    });
  };
}

/** The service of the other version is another one; versions that nobody speaks are refused by the JSON-RPC behind. */
function isSpoken(version: string, { version: own }: GrpcBinding): boolean {
  const other = bindings.find((binding) => binding.version !== own)?.version;
  return !version.trim().startsWith(other ?? '?');
}

function unspoken(version: string, binding: GrpcBinding): RpcFailure {
  const words = `Version not supported: this gRPC service speaks A2A ${binding.version}, not ${version.slice(0, 20)}`;
  return new RpcFailure('FAILED_PRECONDITION', words, { reason: 'VERSION_NOT_SUPPORTED' });
}

/** The service of the SDK, which refuses to decode a message of too many fields. */
function boundedService(service: ServiceDefinition): ServiceDefinition {
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

function implementation(
  binding: GrpcBinding,
  requests: OpenRequests,
  logger: Logger,
): UntypedServiceImplementation {
  const handlers = Object.entries(binding.methods).map(([name, method]) => {
    const open = (call: AnyCall) => {
      const request = requests.get(call.metadata);
      if (request === undefined) throw new Error('The call has no request to the service.');
      return request.call(method.name, method.params(call.request as never));
    };
    const toError = (error: unknown, call: AnyCall) =>
      toStatus(error, binding, call.cancelled ? undefined : logger);
    const isStream = binding.service[name]?.responseStream === true;
    return [name, isStream ? answerStream(open, method, toError) : answerOnce(open, method, toError)];
  });
  return Object.fromEntries(handlers);
}

type AnyCall = ServerUnaryCall<unknown, unknown> | ServerWritableStream<unknown, unknown>;
type Open = (call: AnyCall) => ReturnType<ServiceRequest['call']>;
type ToError = (error: unknown, call: AnyCall) => GrpcStatus;

function answerOnce(open: Open, method: GrpcMethod, toError: ToError): handleUnaryCall<unknown, unknown> {
  const answer = async (...[call, callback]: Parameters<handleUnaryCall<unknown, unknown>>) => {
    try {
      const { extensions, frames } = await open(call);
      for await (const result of frames) {
        call.sendMetadata(headersOf(extensions));
        callback(null, method.message(result));
        return;
      }
      throw new RpcFailure('INTERNAL', 'the service gave no answer');
    } catch (error) {
      callback(toError(error, call));
    }
  };
  return (call, callback) => void answer(call, callback);
}

function answerStream(
  open: Open,
  method: GrpcMethod,
  toError: ToError,
): handleServerStreamingCall<unknown, unknown> {
  const answer = async (call: ServerWritableStream<unknown, unknown>) => {
    try {
      const { extensions, frames } = await open(call);
      call.sendMetadata(headersOf(extensions));
      for await (const frame of frames) {
        if (call.cancelled) return;
        // A reader that does not follow slows the connection behind, which has a limit of its own.
        if (!call.write(method.message(frame))) await drained(call);
      }
      call.end();
    } catch (error) {
      if (!call.cancelled) call.emit('error', toError(error, call));
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

type GrpcStatus = Pick<ServiceError, 'code' | 'details'> & { metadata?: Metadata };

/** Without a logger, nobody is told of failures that are none of the caller's. */
function toStatus(error: unknown, { statusNames }: GrpcBinding, logger: Logger | undefined): GrpcStatus {
  if (!(error instanceof RpcFailure)) {
    logger?.error({ err: error }, 'gRPC call failed');
    return { code: status.INTERNAL, details: 'Internal error: the server log has the details' };
  }
  const { message: details, reason, challenge, field } = error;
  const name = (reason && statusNames?.[reason]) ?? error.statusName;
  const code = status[name as keyof typeof status] ?? status.UNKNOWN;
  const metadata = new Metadata();
  if (reason !== undefined)
    metadata.set(
      GRPC_STATUS_DETAILS_BIN,
      Buffer.concat([encodeGrpcStatusDetails(code, details, reason), badRequest(field, details)]),
    );
  if (challenge !== undefined) metadata.set('www-authenticate', challenge);
  return { code, details, metadata };
}

/**
 * One more entry of `google.rpc.Status.details`, a `google.rpc.BadRequest`, which the SDK has no encoder for. Repeated fields
 * of protocol buffers may be appended. It names fields as protocol buffers do.
 */
function badRequest(field: string | undefined, description: string): Uint8Array {
  if (field === undefined) return Buffer.alloc(0);
  const name = field.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
  const violation = new BinaryWriter().tag(1, 2).string(name).tag(2, 2).string(description).finish();
  const value = new BinaryWriter().tag(1, 2).bytes(violation).finish();
  const type = 'type.googleapis.com/google.rpc.BadRequest';
  const detail = new BinaryWriter().tag(1, 2).string(type).tag(2, 2).bytes(value).finish();
  return new BinaryWriter().tag(3, 2).bytes(detail).finish();
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
