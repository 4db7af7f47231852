import type { Bus, Message } from '@trunkline/bus';
import type { Logger } from '@trunkline/config';
import { maySee, ownerKey, roleOf } from '@trunkline/identity';
import { BoundedMap, readVerdict } from '@trunkline/std';
import type { Question } from '../api-types.ts';
import { answerWith, filesOf } from '../content/references.ts';
import { derivedId, onBehalf, ownerOfMessage, principalOf } from '../core/messages.ts';
import { fieldsOf, text } from '../dispatch/request.ts';
import { surfaces } from '../surfaces/list.ts';
import type { Surface } from '../surfaces/surface.ts';
import type { AnswerOutcome, HumanInput } from './human-input.ts';

export interface SurfaceQuestionSettings {
  bus: Bus;
  humanInput: HumanInput;
  logger: Logger;
}

/** Where a question is asked. */
interface Place {
  interface: string;
  channelId: string;
  /** Undefined: anybody in the channel may answer. */
  userId: string | undefined;
  topic: string;
}

interface Put extends Place {
  correlationId: string;
  /** The person asked may not be allowed to approve. */
  approval: boolean;
  /** Whose question it is: nobody else answers under their name on the surface. */
  owner: string;
}

const mostWaiting = 1000;
const looksBack = 50;

/** Asks agents' questions on the surface of the conversation, and reads the next reply there as the answer. */
export function createSurfaceQuestions({ bus, humanInput, logger }: SurfaceQuestionSettings) {
  /** By request id; the newest question is answered first. */
  const waiting = new BoundedMap<string, Put>(mostWaiting);

  async function start(): Promise<void> {
    for (const question of humanInput.pending()) await find(question);
    await bus.subscribe('agent.input.request.#', (message) => put(message), {
      plugin: 'questions',
    });
    const forget = ({ payload }: Message) => void waiting.delete(text(fieldsOf(payload).requestId) ?? '');
    await bus.subscribe('agent.input.response.#', forget, { plugin: 'questions' });
  }

  /** Reads a message as the answer to a question asked there; false when there is none. */
  async function take(message: Message): Promise<boolean> {
    const { source, payload } = message;
    const content = text(fieldsOf(payload).content);
    if (source === undefined || content === undefined) return false;
    // Guests answer what they were asked themselves, not what a whole channel was.
    const principal = principalOf(message);
    const isGuest = roleOf(principal) === 'guest';
    const mayAnswer = ({ userId, owner }: Put) =>
      userId === undefined ? !isGuest : maySee(principal, owner);
    const found = [...waiting].findLast(([, place]) => isFrom(place, source) && mayAnswer(place));
    if (found === undefined || found[1].approval) return await takeApproval(message, content);
    const [requestId, { owner }] = found;
    waiting.delete(requestId);
    const files = filesOf(payload);
    // They are stored for whoever sent them, and the agent works on behalf of whoever asked it.
    const answer = answerWith(content, files, owner === ownerKey(principal));
    try {
      const outcome = await humanInput.answer(requestId, answer, principal, { id: message.id });
      return await taken(outcome, found, message);
    } catch (error) {
      // The message comes again, and is the answer then.
      waiting.set(requestId, found[1]);
      throw error;
    }
  }

  /** Whether the message was an answer. One that cannot be taken yet is asked for again. */
  async function taken(
    outcome: AnswerOutcome,
    [requestId, place]: [string, Put],
    message: Message,
  ): Promise<boolean> {
    if (outcome !== 'unsure') return outcome === 'accepted' || outcome === 'kept';
    waiting.set(requestId, place);
    const words = 'Your answer was not taken: the switchboard that asked does not answer now.';
    return await say(place, message, `${words} Please give it again in a moment.`);
  }

  /**
   * Takes a plain yes or no where one approval waits. An approver may answer though somebody else was asked; others who
   * were asked are told who may. Anything else goes to the agent.
   */
  async function takeApproval(message: Message, answer: string): Promise<boolean> {
    const { source } = message;
    const principal = principalOf(message);
    if (source === undefined) return false;
    const here = [...waiting].filter(([, each]) => each.approval && isAt(each, source));
    const [first, ...more] = here;
    if (first === undefined) return false;
    const [requestId, waits] = first;
    const isAllowed = humanInput.mayApprove(principal);
    const wasAsked = here.some(([, each]) => isFrom(each, source));
    if (readVerdict(answer) === 'unclear')
      return isAllowed && wasAsked && (await say(waits, message, 'Please answer yes or no.'));
    if (!isAllowed) return wasAsked && (await say(waits, message, humanInput.whereToApprove()));
    const several = 'Several requests wait for approval here, so that a yes could mean any of them.';
    if (more.length > 0) return await say(waits, message, `${several} ${humanInput.whereToApprove()}`);
    const outcome = await humanInput.answer(requestId, answer, principal, { id: message.id });
    waiting.delete(requestId);
    return await taken(outcome, first, message);
  }

  async function say({ topic, correlationId }: Put, to: Message, content: string): Promise<true> {
    const principal = onBehalf(to, 'switchboard');
    await bus.publish({
      topic,
      payload: { content },
      id: derivedId(to.id, 'approval'),
      correlationId,
      principal,
    });
    return true;
  }

  async function put(message: Message): Promise<void> {
    const announced = humanInput.announced(message.payload);
    if (announced === undefined) return;
    const place = await find({ ...announced, owner: ownerOfMessage(message) });
    if (place === undefined) return;
    const { requestId, correlationId, question } = announced;
    await bus.publish({
      topic: place.topic,
      payload: { content: `Question: ${question}`, requestId },
      // Stable, so that a repeated question is posted once.
      id: derivedId(requestId, 'question'),
      correlationId,
      principal: principalOf(message),
    });
  }

  async function find({
    requestId,
    correlationId,
    approval,
    owner,
  }: Pick<Question, 'requestId' | 'correlationId' | 'approval' | 'owner'>): Promise<Place | undefined> {
    try {
      const entries = await bus.history({ correlationId, limit: looksBack });
      const place = placeOf(entries.map(({ message }) => message));
      if (place !== undefined) waiting.set(requestId, { ...place, correlationId, approval, owner });
      return place;
    } catch (error) {
      logger.warn({ err: error, correlationId }, 'failed to find where to ask a question');
      return undefined;
    }
  }

  return { start, take };
}

export type SurfaceQuestions = ReturnType<typeof createSurfaceQuestions>;

function isFrom(place: Place, source: NonNullable<Message['source']>): boolean {
  return isAt(place, source) && (place.userId === undefined || place.userId === source.userId);
}

function isAt(place: Place, source: NonNullable<Message['source']>): boolean {
  return place.interface === source.interface && place.channelId === source.channelId;
}

/** With the requester, else in the channel of the project. */
function placeOf(messages: readonly Message[]): Place | undefined {
  return (
    messages.map(origin).find((place) => place !== undefined) ??
    messages.map(projectChannel).find((place) => place !== undefined)
  );
}

function origin({ topic, source, reply }: Message): Place | undefined {
  if (!topic.startsWith('message.inbound.') || source?.channelId === undefined || reply === undefined)
    return undefined;
  if (!surfaceOf(source.interface)?.carriesQuestions) return undefined;
  return {
    interface: source.interface,
    channelId: source.channelId,
    userId: source.userId,
    topic: reply.topic,
  };
}

/** The channel of the request's project, if its surface can be written to. */
function projectChannel({ topic, payload }: Message): Place | undefined {
  if (topic !== 'agent.skill.request') return undefined;
  const { platform, channelId } = fieldsOf(fieldsOf(payload).project);
  const [surface, channel] = [text(platform), text(channelId)];
  if (surface === undefined || channel === undefined) return undefined;
  const channelTopic = surfaceOf(surface)?.channelTopic?.(channel);
  return channelTopic === undefined
    ? undefined
    : { interface: surface, channelId: channel, userId: undefined, topic: channelTopic };
}

function surfaceOf(name: string): Surface | undefined {
  return surfaces.find((surface) => surface.name === name);
}
