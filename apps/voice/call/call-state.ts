import type { Reply } from './replying/reply.ts';

/** What the caller is saying, from the first sound until it is answered or dropped. */
export interface UserTurn {
  /** When the first sound of it was heard. */
  saidAt: number;
  /** When the current stretch of speech began. */
  startedAt: number;
  /** The page was sent `user-started-speaking`. */
  announced: boolean;
  /** The speech overlapped the bot's and did not interrupt it. */
  falseInterruption: boolean;
  /** It answers what the bot asks, and waits until the bot has finished. */
  answers: boolean;
  /** When the transcript up to the last pause arrived. */
  transcribedAt: number | undefined;
}

interface BotTurn {
  /** Undefined where the bot says something that answers nobody: a notification or a reprompt. */
  reply: Reply | undefined;
  /** The caller speaks while the bot has the turn. */
  overlap: UserTurn | undefined;
}

/** What the call is doing now. Only one state at a time has the turn. */
export type CallState =
  /** Nobody speaks and nothing is under way. */
  | { name: 'idle'; since: number }
  /** The caller has the turn and speaks. */
  | { name: 'listening'; userTurn: UserTurn }
  /** The caller has the turn and is silent: has the turn ended? */
  | { name: 'endpointing'; userTurn: UserTurn }
  /** The bot has the turn and no sound goes out: the model, a tool or the voice is at work. */
  | ({ name: 'thinking' } & BotTurn)
  /** The bot has the turn and is heard. */
  | ({ name: 'speaking' } & BotTurn)
  /** The bot has the turn and holds its output, because the caller may be interrupting. */
  | ({ name: 'paused'; resumeTo: 'thinking' | 'speaking' } & BotTurn);

export type CallEvent =
  | { type: 'user-speaking' | 'user-silent' | 'interrupted'; userTurn: UserTurn }
  | { type: 'reply-started'; reply: Reply }
  | {
      type:
        | 'user-turn-ended'
        | 'utterance-queued'
        | 'playout-started'
        | 'playout-finished'
        | 'reply-finished'
        | 'bot-turn-finished'
        | 'possible-interruption'
        | 'false-interruption'
        | 'cancelled';
    };

export const states = ['idle', 'listening', 'endpointing', 'thinking', 'speaking', 'paused'] as const;
type StateName = (typeof states)[number];

/** `resume` returns to the state before the pause. */
type Target = StateName | 'resume';

/** Each row is an event; its columns are the states in the order of `states`. */
export const transitions: Record<
  CallEvent['type'],
  readonly [Target, Target, Target, Target, Target, Target]
> = {
  // from:                  idle           listening      endpointing    thinking    speaking    paused
  /** A window of sound holds the caller's voice. */
  'user-speaking': ['listening', 'listening', 'listening', 'thinking', 'speaking', 'paused'],
  /** A window of sound holds a pause in what the caller says. */
  'user-silent': ['endpointing', 'endpointing', 'endpointing', 'thinking', 'speaking', 'paused'],
  /** What the caller said is taken for an answer, or dropped. */
  'user-turn-ended': ['idle', 'idle', 'idle', 'thinking', 'speaking', 'paused'],
  'reply-started': ['thinking', 'thinking', 'thinking', 'thinking', 'speaking', 'paused'],
  /** The bot is about to say something; a backchannel takes no turn and is no such event. */
  'utterance-queued': ['thinking', 'thinking', 'thinking', 'thinking', 'speaking', 'paused'],
  'playout-started': ['idle', 'listening', 'endpointing', 'speaking', 'speaking', 'paused'],
  /** Nothing is left to play, but the reply goes on. */
  'playout-finished': ['idle', 'listening', 'endpointing', 'thinking', 'thinking', 'paused'],
  /** The reply is complete; some of it may still be played. */
  'reply-finished': ['idle', 'listening', 'endpointing', 'thinking', 'speaking', 'paused'],
  /** There is no reply and nothing left to play. */
  'bot-turn-finished': ['idle', 'listening', 'endpointing', 'idle', 'idle', 'idle'],
  'possible-interruption': ['idle', 'listening', 'endpointing', 'paused', 'paused', 'paused'],
  'false-interruption': ['idle', 'listening', 'endpointing', 'thinking', 'speaking', 'resume'],
  /** Barge-in: the caller takes the turn. */
  interrupted: ['listening', 'listening', 'listening', 'listening', 'listening', 'listening'],
  /** A written message, or a hang-up, ends whatever goes on. */
  cancelled: ['idle', 'idle', 'idle', 'idle', 'idle', 'idle'],
};

/** The state after an event, with its data. */
export function transition(state: CallState, event: CallEvent, now: number): CallState {
  const target = transitions[event.type][states.indexOf(state.name)] ?? state.name;
  const name = target === 'resume' ? resumeTo(state) : target;
  const userTurn = userTurnAfter(state, event);
  const bot = { reply: replyAfter(state, event), overlap: userTurn };
  if (name === 'thinking' || name === 'speaking') return { name, ...bot };
  if (name === 'paused') return { name, ...bot, resumeTo: resumeAfter(state, event) };
  if (name === 'idle' || userTurn === undefined) return { name: 'idle', since: now };
  return { name, userTurn };
}

/** The caller begins to speak then, or goes on with what they said before. */
export function nextUserTurn(state: CallState, startedAt: number): UserTurn {
  const fresh = { saidAt: startedAt, announced: false, falseInterruption: false, answers: false };
  return { ...fresh, ...userTurnOf(state), startedAt, transcribedAt: undefined };
}

export function userTurnOf(state: CallState): UserTurn | undefined {
  return 'userTurn' in state ? state.userTurn : 'overlap' in state ? state.overlap : undefined;
}

export function replyOf(state: CallState): Reply | undefined {
  return 'reply' in state ? state.reply : undefined;
}

export function botHasTurn({ name }: CallState): boolean {
  return name === 'thinking' || name === 'speaking' || name === 'paused';
}

function userTurnAfter(state: CallState, event: CallEvent): UserTurn | undefined {
  if ('userTurn' in event) return event.userTurn;
  return event.type === 'user-turn-ended' ? undefined : userTurnOf(state);
}

function replyAfter(state: CallState, event: CallEvent): Reply | undefined {
  if (event.type === 'reply-started') return event.reply;
  return event.type === 'reply-finished' ? undefined : replyOf(state);
}

function resumeTo(state: CallState): StateName {
  return state.name === 'paused' ? state.resumeTo : state.name;
}

/** What was heard before the pause decides, and what ends or starts during it. */
function resumeAfter(state: CallState, { type }: CallEvent): 'thinking' | 'speaking' {
  if (type === 'playout-started') return 'speaking';
  if (type === 'playout-finished') return 'thinking';
  return resumeTo(state) === 'speaking' ? 'speaking' : 'thinking';
}
