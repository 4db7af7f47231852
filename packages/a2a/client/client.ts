import type { AgentCard, StreamResponse } from '@a2a-js/sdk';
import type { Client } from '@a2a-js/sdk/client';
import { anonymous } from '@trunkline/identity';
import { type Clock, systemClock } from '@trunkline/schedule';
import { BoundedMap, Deadline, errorMessage } from '@trunkline/std';
import { AgentCards } from './agent-cards.ts';
import {
  createAgentFetch,
  type Fetch,
  identityHeaders,
  isRepeatable,
  NoStreamsError,
  signMessage,
} from './agent-fetch.ts';
import { type Interface, isCardAddress, isSameEndpoint } from './card-places.ts';
import { NotSpokenError, OtherContentError, sendPlain } from './plain-wire.ts';
import {
  type A2aClient,
  type CallOptions,
  firstText,
  needsNoCard,
  type OutgoingMessage,
  type RemoteAgent,
  RemoteAgentError,
  type RemoteCard,
  type RemoteErrorCode,
  type RemoteEvent,
  type RemoteReply,
  textOfArtifacts,
} from './remote-agent.ts';
import {
  connect,
  fromPage,
  fromPushConfig,
  fromResult,
  fromTask,
  readStream,
  toListRequest,
  toPushConfig,
  toRequest,
  type Way,
} from './sdk-wire.ts';

const defaultTimeoutMs = 60_000;

/** For telling an agent to stop after its caller has left. */
const cancelTimeoutMs = 5_000;

/** Of addresses that are no endpoints, and for how long: a service that is being deployed is back by then. */
const mostRemembered = 1000;
const rememberedMs = 10 * 60 * 1000;

/** Of gRPC. */
const DEADLINE_EXCEEDED = 4;
const PERMISSION_DENIED = 7;
const UNIMPLEMENTED = 12;
const UNAVAILABLE = 14;
const UNAUTHENTICATED = 16;

const METHOD_NOT_FOUND = -32601;
const UNSUPPORTED_OPERATION = -32004;

/** `fetchNonIdempotent` sends messages to agents that may not know one again. */
export function createA2aClient(clock: Clock = systemClock, fetchNonIdempotent: Fetch = fetch): A2aClient {
  const deadlineOf = ({ signal, timeoutMs = defaultTimeoutMs }: CallOptions) =>
    new Deadline({ signal, timeoutMs, clock });
  const cards = new AgentCards(() => clock.now());
  const fetchFor = (agent: RemoteAgent, { principal }: CallOptions) =>
    createAgentFetch(agent, () => clock.now(), principal, fetchNonIdempotent);
  const cardOf = (agent: RemoteAgent, deadline: Deadline, fresh = false) =>
    cards.get(agent, fetchFor(agent, ownName(agent)), deadline.signal, fresh);
  const wayTo = (agent: RemoteAgent, options: CallOptions): Way => ({
    send: fetchFor(agent, options),
    headers: () => identityHeaders(agent, '', clock.now(), options.principal ?? anonymous),
  });
  const callWithin = async <T>(
    deadline: Deadline,
    agent: RemoteAgent,
    options: CallOptions,
    work: (client: Client, deadline: Deadline) => Promise<T>,
  ) => {
    const { client, close } = await connect(agent, await cardOf(agent, deadline), wayTo(agent, options));
    return await work(client, deadline).finally(close);
  };
  const call = <T>(
    agent: RemoteAgent,
    options: CallOptions,
    work: (client: Client, deadline: Deadline) => Promise<T>,
  ) => within(agent, deadlineOf(options), (deadline) => callWithin(deadline, agent, options, work));
  /** Anew for each attempt, as each signature counts once. */
  const signed = (agent: RemoteAgent, message: OutgoingMessage, { principal = anonymous }: CallOptions) =>
    signMessage(agent, message, principal, clock.now());
  const sendByCard = (
    deadline: Deadline,
    agent: RemoteAgent,
    message: OutgoingMessage,
    options: CallOptions,
  ) =>
    callWithin(deadline, agent, options, async (client, { signal }) =>
      fromResult(await client.sendMessage(toRequest(signed(agent, message, options)), { signal })),
    );
  /** Addresses of agents without a card of which another than the endpoint was given, and until when that is believed. */
  const notEndpoints = new BoundedMap<string, number>(mostRemembered);
  /** Whether its card names more than JSON-RPC of 0.3 at the address that was given, where a refusal came from. */
  const speaksOther = async (agent: RemoteAgent, deadline: Deadline, refusal: NotSpokenError) => {
    try {
      const { supportedInterfaces } = await cardOf(agent, deadline, true);
      const others = supportedInterfaces.filter(({ url }) => !isSameEndpoint(url, agent.url));
      // Whoever gave an answer, of whatever kind, may have done the work.
      if (refusal instanceof OtherContentError) return others.length === supportedInterfaces.length;
      const isOther = ({ protocolBinding, protocolVersion }: Interface) =>
        protocolBinding !== 'JSONRPC' || !protocolVersion.startsWith('0.');
      return others.length > 0 || supportedInterfaces.some(isOther);
    } catch (error) {
      deadline.signal.throwIfAborted();
      // What the card says of the agent's place is for the operator to settle.
      if (error instanceof RemoteAgentError && error.code !== 'agent_elsewhere') return false;
      throw error;
    }
  };
  /** One request of 0.3 at the address; where nobody speaks it there, as where a card is, the agent is looked for after all. */
  const sendOnce = async (
    deadline: Deadline,
    agent: RemoteAgent,
    message: OutgoingMessage,
    options: CallOptions,
  ) => {
    const discovered: RemoteAgent = { ...agent, protocol: 'discover' };
    const isKnown = (notEndpoints.get(agent.url) ?? 0) > clock.now();
    if (!isKnown && isCardAddress(agent)) await cardOf(discovered, deadline, true);
    else if (!isKnown) {
      try {
        return await sendPlain(
          agent,
          signed(agent, message, options),
          fetchFor(agent, options),
          deadline.signal,
        );
      } catch (error) {
        if (!(error instanceof NotSpokenError)) throw error;
        if (!(await speaksOther(discovered, deadline, error))) throw error;
      }
    }
    const reply = await sendByCard(deadline, discovered, message, options).catch((error: unknown) => {
      notEndpoints.delete(agent.url);
      throw error;
    });
    notEndpoints.set(agent.url, clock.now() + rememberedMs);
    return reply;
  };
  const send = (agent: RemoteAgent, message: OutgoingMessage, options: CallOptions = {}) =>
    within(agent, deadlineOf(options), (deadline) => {
      const attempt = () => (needsNoCard(agent) ? sendOnce : sendByCard)(deadline, agent, message, options);
      return attempt().catch((error: unknown) => {
        if (!isRepeatable(agent, message, error)) throw error;
        return attempt();
      });
    });
  const get = (agent: RemoteAgent, taskId: string, options: CallOptions = {}) =>
    call(agent, options, async (client, { signal }) =>
      fromTask(await client.getTask({ tenant: '', id: taskId }, { signal })),
    );
  const cancel = (agent: RemoteAgent, taskId: string, options: CallOptions = {}) =>
    call(agent, options, async (client, { signal }) =>
      fromTask(await client.cancelTask({ tenant: '', id: taskId, metadata: undefined }, { signal })),
    );
  /** False where the agent has no streams; nothing was done then. */
  async function* streamed(
    agent: RemoteAgent,
    options: CallOptions,
    open: (client: Client, signal: AbortSignal) => AsyncIterable<StreamResponse>,
  ): AsyncGenerator<RemoteEvent, boolean> {
    const deadline = deadlineOf(options);
    let isAnswering = false;
    let taskId: string | undefined;
    let close: (() => void) | undefined;
    try {
      const card = await cardOf(agent, deadline);
      if (card.capabilities?.streaming !== true) return false;
      const connection = await connect(agent, card, wayTo(agent, options));
      ({ close } = connection);
      for await (const event of readStream(open(connection.client, deadline.signal), agent)) {
        isAnswering = true;
        if (event.type === 'task-start') taskId = event.taskId;
        deadline.extend();
        yield event;
      }
      return true;
    } catch (error) {
      if (!isAnswering && refusesStreams(error)) return false;
      if (deadline.isAbortedByCaller && options.cancelOnAbort === true && taskId !== undefined)
        await stopTask(agent, taskId, options);
      throw explain(error, agent, deadline);
    } finally {
      deadline.clear();
      close?.();
    }
  }
  /** The caller has left with a reason of its own: an agent that cannot be told goes on, and nobody waits for it. */
  const stopTask = async (agent: RemoteAgent, taskId: string, { principal }: CallOptions) => {
    const told = cancel(agent, taskId, { timeoutMs: cancelTimeoutMs, principal });
    await told.then(
      () => undefined,
      () => undefined,
    );
  };
  return {
    send,
    ask: async (agent, message, options) => answerFrom(agent, await send(agent, message, options)),
    async *stream(agent, message, options = {}) {
      // Under the same id an agent that did begin to work does not do it twice.
      const sent = { ...message, messageId: message.messageId ?? crypto.randomUUID() };
      const attempt = (client: Client, signal: AbortSignal) =>
        client.sendMessageStream(toRequest(signed(agent, sent, options)), { signal });
      const open = async function* (client: Client, signal: AbortSignal) {
        let isAnswering = false;
        try {
          for await (const event of attempt(client, signal)) {
            isAnswering = true;
            yield event;
          }
        } catch (error) {
          if (isAnswering || !isRepeatable(agent, sent, error)) throw error;
          yield* attempt(client, signal);
        }
      };
      if (!(yield* streamed(agent, options, open))) yield* unstreamed(await send(agent, sent, options));
    },
    get,
    cancel,
    async *subscribe(agent, taskId, options = {}) {
      const open = (client: Client, signal: AbortSignal) =>
        client.resubscribeTask({ tenant: '', id: taskId }, { signal });
      if (!(yield* streamed(agent, options, open)))
        yield* unstreamed(requireEnded(agent, await get(agent, taskId, options)));
    },
    list: (agent, query = {}, options = {}) =>
      call(agent, options, async (client, { signal }) =>
        fromPage(await client.listTasks(toListRequest(query), { signal })),
      ),
    setPush: (agent, taskId, push, options = {}) =>
      call(agent, options, async (client, { signal }) =>
        fromPushConfig(await client.createTaskPushNotificationConfig(toPushConfig(taskId, push), { signal })),
      ),
    getPush: (agent, taskId, id, options = {}) =>
      call(agent, options, async (client, { signal }) =>
        fromPushConfig(await client.getTaskPushNotificationConfig({ tenant: '', taskId, id }, { signal })),
      ),
    listPush: (agent, taskId, options = {}) =>
      call(agent, options, async (client, { signal }) => {
        const request = { tenant: '', taskId, pageSize: 0, pageToken: '' };
        const { configs } = await client.listTaskPushNotificationConfig(request, { signal });
        return configs.map(fromPushConfig);
      }),
    deletePush: (agent, taskId, id, options = {}) =>
      call(agent, options, (client, { signal }) =>
        client.deleteTaskPushNotificationConfig({ tenant: '', taskId, id }, { signal }),
      ),
    card: (agent, options = {}) =>
      within(agent, deadlineOf(options), async (deadline) => {
        const card = await cardOf(agent, deadline, true);
        if (card.refusal !== undefined) throw card.refusal;
        return describeCard(agent, card);
      }),
    extendedCard: (agent, options = {}) =>
      call(agent, options, async (client, { signal }) =>
        describeCard({}, await client.getAgentCard({ signal })),
      ),
  };
}

/** The events of an answer that came in one piece. */
function* unstreamed(reply: RemoteReply): Generator<RemoteEvent, void> {
  const { taskId, contextId = '', text } = reply;
  if (taskId !== undefined) yield { type: 'task-start', taskId, contextId };
  if (reply.state === 'completed' && text !== '') yield { type: 'text-delta', text };
  yield { type: 'task-end', reply };
}

/** Where an agent has no streams, a task that is under way cannot be followed. */
function requireEnded(agent: RemoteAgent, reply: RemoteReply): RemoteReply {
  if (reply.state !== 'working' && reply.state !== 'submitted' && reply.state !== 'unknown') return reply;
  throw new RemoteAgentError('agent_error', agent, 'it offers no stream of a task that is under way');
}

/** The agent knows no streams, whatever its card says: by the code, as words may be those of a tool that it used. */
function refusesStreams(error: unknown): boolean {
  if (!(error instanceof Error)) return false;
  if (error instanceof NoStreamsError || error.name === 'UnsupportedOperationError') return true;
  if (grpcStatus(error) === UNIMPLEMENTED) return true;
  const code = 'envelopeCode' in error ? error.envelopeCode : undefined;
  return code === METHOD_NOT_FOUND || code === UNSUPPORTED_OPERATION || refusesStreams(error.cause);
}

/** The service reads cards in its own name. */
function ownName({ peer }: RemoteAgent): CallOptions {
  return { principal: { kind: 'service', id: peer?.name ?? '', via: [] } };
}

async function within<T>(
  agent: RemoteAgent,
  deadline: Deadline,
  work: (deadline: Deadline) => Promise<T>,
): Promise<T> {
  try {
    return await work(deadline);
  } catch (error) {
    throw explain(error, agent, deadline);
  } finally {
    deadline.clear();
  }
}

/** An abort by the caller keeps its own reason. */
function explain(error: unknown, agent: RemoteAgent, deadline: Deadline): unknown {
  if (deadline.isAbortedByCaller) return deadline.signal.reason;
  if (deadline.isExpired) return new RemoteAgentError('agent_timeout', agent, '', { cause: error });
  const own = findOwn(error);
  if (own !== undefined) return own;
  const code = grpcCodes[grpcStatus(error) ?? 0] ?? 'agent_error';
  // The words of gRPC for that have addresses in them, which are not for everybody who hears this.
  const reason = code === 'agent_unreachable' ? '' : errorMessage(error);
  return new RemoteAgentError(code, agent, reason, { cause: error });
}

/** What gRPC tells by its status alone. */
const grpcCodes: Record<number, RemoteErrorCode> = {
  [DEADLINE_EXCEEDED]: 'agent_timeout',
  [PERMISSION_DENIED]: 'agent_unauthorized',
  [UNAVAILABLE]: 'agent_unreachable',
  [UNAUTHENTICATED]: 'agent_unauthorized',
};

function grpcStatus(error: unknown): number | undefined {
  if (!(error instanceof Error) || Reflect.get(error, 'transport') !== 'grpc') return undefined;
  // One with details comes from the agent and has words of its own.
  return Reflect.get(error, 'statusDetailsBin') === undefined
    ? Number(Reflect.get(error, 'status'))
    : undefined;
}

function findOwn(error: unknown): RemoteAgentError | undefined {
  if (error instanceof RemoteAgentError) return error;
  return error instanceof Error && error.cause !== undefined ? findOwn(error.cause) : undefined;
}

/** Returns the text of an answer. Throws if the reply is empty, has failed or asks back. */
export function answerFrom(agent: RemoteAgent, reply: RemoteReply): string {
  const { state, statusText } = reply;
  if (state === 'failed' || state === 'rejected' || state === 'canceled') {
    throw new RemoteAgentError(
      'agent_failed',
      agent,
      statusText === '' ? `the task was ${state}` : statusText,
    );
  }
  if (state === 'input-required' || state === 'auth-required') {
    throw new RemoteAgentError('agent_failed', agent, `it asks back: ${statusText}`);
  }
  const answer = needsNoCard(agent) ? firstText(reply.artifacts) : textOfArtifacts(reply.artifacts);
  if (answer === undefined || answer === '') throw new RemoteAgentError('agent_no_answer', agent);
  return answer;
}

function describeCard({ trust }: Pick<RemoteAgent, 'trust'>, card: AgentCard): RemoteCard {
  const { name, description, capabilities, skills, signatures } = card;
  const signed = signatures.length > 0 ? 'signed' : 'none';
  return {
    name,
    description,
    streaming: capabilities?.streaming ?? false,
    pushNotifications: capabilities?.pushNotifications ?? false,
    // A card that fails the check is not believed at all.
    signature: trust === undefined ? signed : 'verified',
    skills: skills.map((skill) => ({ id: skill.id, name: skill.name, description: skill.description })),
  };
}
