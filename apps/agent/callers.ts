import type { ExecutionEvent, ExecutionRequest, TaskAccess } from '@trunkline/a2a';
import type { Senders } from '@trunkline/accounts';
import { maySee, type OperatorAccess, ownerKey, type Principal, roleOf } from '@trunkline/identity';
import { readVerdict } from '@trunkline/std';
import { readScope } from '@trunkline/tools';
import { activityContextOf, isActivityContext } from './activity/activity-feed.ts';
import { approvalQuestion, mayApprove, type PendingApproval, viewOf } from './approvals/approvals.ts';
import { platformMetadata } from './chats/chat-recorder.ts';
import { notYours, type Owners, operatorScope } from './owners.ts';
import type { ChatDoor, Inbound, InboundAnswer, InboundMessage } from './plugins/open-plugins.ts';
import type { ScheduleBackend } from './scheduler/schedule-backend.ts';
import type { LiveConfig } from './setup/config-file.ts';
import type { ParkedTurn } from './turns/checkpoint-store.ts';
import type { MayAnswer } from './turns/converse.ts';
import type { TurnState } from './turns/turn-state.ts';

/** What decides about callers, as the configuration stands now. */
interface CallerRules {
  owners: Owners;
  operator: OperatorAccess;
}

interface ChatRules {
  live: LiveConfig;
  senders: Senders;
}

/** Somebody who writes on the chat platform: a person with an account, an approver, one of a list, or a guest. */
export function chatPerson(
  { live, senders }: ChatRules,
  { author, isListed = false }: Pick<InboundMessage, 'author' | 'isListed'>,
): Principal {
  const id = `chat:${author}`;
  const isApprover = live.config.approvals.approvers.includes(id);
  const as: Principal = { kind: 'person', id, via: [] };
  const person = senders.identify({
    identity: discordIdentity(author),
    as,
    isListed: isListed || isApprover,
  });
  return isApprover && person.kind === 'person' ? { ...person, kind: 'approver' } : person;
}

/** Which strangers the chat plugin lets in, and what it tells the others. */
export function chatDoor(rules: ChatRules): ChatDoor {
  return {
    admits: (author) => rules.live.config.chat.public || roleOf(chatPerson(rules, { author })) !== 'guest',
    notice: ({ author, name, isDirect }) =>
      isDirect
        ? rules.senders.notice(discordIdentity(author), name)
        : rules.senders.pointer(discordIdentity(author)),
  };
}

function discordIdentity(author: string): string {
  return `discord:${author}`;
}

/** Answers what the chat plugin hears. */
export function chatInbound(
  personOf: (inbound: InboundMessage) => Principal,
  mayContinue: MayJoin,
  answer: (message: ReturnType<typeof messageOf>) => Promise<string | InboundAnswer>,
): Inbound {
  return async (inbound) => {
    const message = messageOf(inbound, personOf(inbound));
    return mayContinue(message.contextId, message.principal) ? await answer(message) : notYours;
  };
}

/** Who is only known by the platform shares the conversation of the channel; everybody else has one of their own. */
function messageOf({ contextId, text, author, files }: InboundMessage, principal: Principal) {
  const isShared = principal.id === `chat:${author}`;
  return {
    contextId: isShared ? contextId : `${contextId}:${principal.id}`,
    text,
    files,
    principal,
    metadata: platformMetadata,
  };
}

/** Whether somebody may continue and delete a conversation: their own, and the operator all. */
export type MayJoin = (sessionId: string, principal: Principal) => boolean;

export function canJoin(base: CallerRules, state: Pick<TurnState, 'sessions'>): MayJoin {
  const { owners, operator } = base;
  const mayContinue = canContinue(base, state);
  return (sessionId, principal) => {
    if (owners.conversation(principal) === operatorScope) return true;
    if (!mayContinue(sessionId, principal)) return false;
    if (!isReserved(sessionId) || ownNames(principal, operator.isOpen).includes(sessionId)) return true;
    if (isActivityContext(sessionId)) return false;
    const isOfRoom = sessionId.startsWith(roomPrefix) && owners.conversation(principal).startsWith('people:');
    return isOfRoom || state.sessions.owner(sessionId) !== undefined;
  };
}

/** Whether a conversation is new or somebody's own; the operator too has no more than that. */
export function canContinue(
  { owners }: Pick<CallerRules, 'owners'>,
  { sessions }: Pick<TurnState, 'sessions'>,
): MayJoin {
  return (sessionId, principal) => {
    const owner = sessions.owner(sessionId);
    return owner === undefined || owners.mayContinue(principal, owner);
  };
}

const roomPrefix = 'chat:';
const standardPrefix = 'api-';

/** Names that the agent gives out itself: whoever could begin such a conversation would read what others say in it. */
function isReserved(sessionId: string): boolean {
  return (
    isActivityContext(sessionId) || sessionId.startsWith(roomPrefix) || sessionId.startsWith(standardPrefix)
  );
}

function ownNames(principal: Principal, isOpen: boolean): string[] {
  return [activityContextOf(principal), standardSession(principal, isOpen)];
}

/** Where those talk who name no conversation: everybody known in one of their own. */
export function standardSession(principal: Principal, isOpen: boolean): string {
  const { kind } = principal;
  if (kind === 'person' || kind === 'approver') return standardPrefix + ownerKey(principal);
  return standardPrefix + (isOpen || kind === 'operator' ? 'default' : 'guest');
}

/** Whether somebody may read a conversation: also one that they began in a room, and those of nobody. */
export function canRead(base: CallerRules, state: Pick<TurnState, 'sessions' | 'chats'>): MayJoin {
  const mayJoin = canJoin(base, state);
  return (sessionId, principal) => {
    const owner = state.chats.owner(sessionId);
    const isSeen = owner !== undefined && maySee(base.owners.viewer(principal), owner);
    return isSeen || mayJoin(sessionId, principal);
  };
}

/** What callers may do with the tasks of others: answer in conversations that they share, and approve. */
export function taskAccess(
  base: CallerRules,
  state: Pick<TurnState, 'sessions'>,
  scheduler: Pick<ScheduleBackend, 'receive'> | undefined,
): TaskAccess {
  const mayJoin = canJoin(base, state);
  return {
    viewer: base.owners.viewer,
    ...(scheduler?.receive && { receive: scheduler.receive }),
    mayAnswer: ({ contextId }, principal) =>
      mayJoin(contextId, principal) || mayApprove(principal, base.operator),
    refuseContext: (contextId, principal) => (mayJoin(contextId, principal) ? undefined : notYours),
  };
}

/** Whether a caller's next message in a conversation answers the question of one of its waiting tasks. */
export function canAnswer(base: CallerRules, { checkpoints }: Pick<TurnState, 'checkpoints'>): MayAnswer {
  const { operator: access, owners } = base;
  return (taskId, { principal, text }) => {
    const parked = checkpoints.load(taskId);
    if (parked === undefined) return true;
    if (parked.approval === undefined) return isSameAsker(parked, principal, { access, owners });
    return mayApprove(principal, access) || readVerdict(readScope(text).answer) !== 'unclear';
  };
}

type Question = NonNullable<ExecutionRequest['resume']>;

/** Looks at an answer to a question that waits: undefined lets it through, an event asks again. */
export type AnswerGate = (
  parked: ParkedTurn,
  question: Question,
  answer: ExecutionRequest,
) => ExecutionEvent | undefined;

interface AnswerGateOptions {
  access: Pick<OperatorAccess, 'isOpen'>;
  owners: Owners;
  /** Where the console shows what waits; undefined where no page is served. */
  consoleUrl(): string | undefined;
}

/** A question waits for whoever asked for the work, or the operator; an approval for the operator. */
export function createAnswerGate(options: AnswerGateOptions): AnswerGate {
  return (parked, question, answer) =>
    parked.approval === undefined
      ? askedOthers(parked, question, answer, options)
      : askedForApproval(parked.approval, answer, options);
}

/** Whether somebody may answer what was asked in the work of another. */
function isSameAsker(
  parked: Pick<ParkedTurn, 'principal'>,
  principal: Principal,
  { access, owners }: Pick<AnswerGateOptions, 'access' | 'owners'>,
): boolean {
  const asker = owners.conversation(parked.principal);
  return owners.mayContinue(principal, asker) || mayApprove(principal, access);
}

function askedOthers(
  parked: ParkedTurn,
  { text, schema }: Question,
  { principal }: ExecutionRequest,
  options: AnswerGateOptions,
): ExecutionEvent | undefined {
  if (isSameAsker(parked, principal, options)) return undefined;
  const note = 'This still waits: it was asked of somebody else, or of the operator.';
  const question = text.startsWith(note) ? text : `${note}\n${text}`;
  return { type: 'input-required', question, ...(schema !== undefined && { schema }) };
}

function askedForApproval(
  approval: PendingApproval,
  { principal, text }: ExecutionRequest,
  { access, consoleUrl }: AnswerGateOptions,
): ExecutionEvent | undefined {
  const note = objection(principal, text, access);
  if (note === undefined) return undefined;
  const question = approvalQuestion(approval, consoleUrl(), note);
  return { type: 'input-required', question, schema: { approval: viewOf(approval, note) } };
}

function objection(
  principal: Principal,
  text: string,
  access: AnswerGateOptions['access'],
): string | undefined {
  if (!mayApprove(principal, access))
    return 'This still waits: it needs the approval of the operator, and your answer is not one.';
  if (readVerdict(readScope(text).answer) === 'unclear')
    return 'That was neither a yes nor a no. Answer yes or no.';
  return undefined;
}
