import { type AgentCard, StreamResponse } from '@a2a-js/sdk';
import type { Transport, TransportFactory } from '@a2a-js/sdk/client';
import { GrpcTransportFactory } from '@a2a-js/sdk/client/grpc';
import { Client, ChannelCredentials as Credentials, InterceptingCall, type Interceptor } from '@grpc/grpc-js';
import { longestAnswerBytes } from './agent-fetch.ts';
import { markAppend } from './kept-append.ts';
import { type RemoteAgent, RemoteAgentError } from './remote-agent.ts';

/** One for all calls: grpc-js shares a connection only between channels whose credentials are the same. */
const [encrypted, plain] = [Credentials.createSsl(), Credentials.createInsecure()];

/** A message larger than this is refused before it is decoded; names are not looked up at a proxy, nor settings in DNS. */
const channelOptions = {
  'grpc.max_receive_message_length': longestAnswerBytes,
  'grpc.enable_http_proxy': 0,
  'grpc.service_config_disable_resolution': 1,
  'grpc.enable_channelz': 0,
};

/** Calls an agent over gRPC, in 1.0 or 0.3, at an interface whose address says by `https:` or `http:` whether it is encrypted. */
export class GrpcWire implements TransportFactory {
  readonly protocolName = 'GRPC';
  readonly #agent: RemoteAgent;
  readonly #headers: () => Record<string, string>;
  #client: Client | undefined;

  constructor(agent: RemoteAgent, headers: () => Record<string, string>) {
    this.#agent = agent;
    this.#headers = headers;
  }

  async create(address: string, card: AgentCard): Promise<Transport> {
    const { protocol, hostname, port } = new URL(address);
    const isEncrypted = protocol === 'https:';
    const credentials = isEncrypted ? encrypted : plain;
    const endpoint = `${hostname}:${port || (isEncrypted ? 443 : 80)}`;
    // The SDK finds the version by the address, which for gRPC is one without a scheme.
    const supportedInterfaces = card.supportedInterfaces.map((entry) =>
      entry.url === address ? { ...entry, url: endpoint } : entry,
    );
    const factory = new GrpcTransportFactory({
      grpcChannelCredentials: credentials,
      grpcCallOptions: { interceptors: [this.#identify()] },
      legacyCompat: { enabled: true },
    });
    const transport = await factory.create(endpoint, { ...card, supportedInterfaces });
    const [send, follow] = [transport.sendMessageStream, transport.resubscribeTask];
    transport.sendMessageStream = (...given) => this.#bounded(send.apply(transport, given));
    transport.resubscribeTask = (...given) => this.#bounded(follow.apply(transport, given));
    this.#client = withOptions(transport, endpoint, credentials);
    return transport;
  }

  close(): void {
    this.#client?.close();
  }

  /** The headers are no call credentials, which gRPC sends over encrypted connections alone. */
  #identify(): Interceptor {
    return (options, next) =>
      new InterceptingCall(next(options), {
        start: (metadata, _listener, start) => {
          for (const [name, value] of Object.entries(this.#headers())) metadata.set(name, value);
          start(metadata, {
            onReceiveMessage(message: unknown, pass) {
              markAppend(message);
              pass(message);
            },
          });
        },
      });
  }

  /** A stream may have as many bytes in all as an answer over HTTP. */
  async *#bounded(frames: AsyncIterable<StreamResponse>): AsyncGenerator<StreamResponse, void, undefined> {
    let seen = 0;
    for await (const frame of frames) {
      seen += JSON.stringify(StreamResponse.toJSON(frame)).length;
      if (seen > longestAnswerBytes)
        throw new RemoteAgentError('agent_unreadable', this.#agent, 'the answer is too large');
      yield frame;
    }
  }
}

/** The SDK's transport takes no options for its channel, which has not connected yet: it gets another. */
function withOptions(transport: Transport, endpoint: string, credentials: Credentials): Client {
  const given: unknown = Reflect.get(transport, 'grpcClient');
  if (!(given instanceof Client)) throw new Error('This version of the A2A SDK has no gRPC client.');
  given.close();
  const client: Client = Reflect.construct(given.constructor, [endpoint, credentials, channelOptions]);
  Reflect.set(transport, 'grpcClient', client);
  return client;
}
