import type { Origin, Principal } from '@trunkline/identity';
import type { ForeignDescription, ModelErrorCode, ModelWait, TokenCounts, Tool } from '@trunkline/llm';
import type { AlwaysEffect, DecidedCall, PolicyDecision, PolicyRequest } from '@trunkline/policy';
import type { LanguageModel, ModelMessage } from 'ai';
import type { AskReason, Checkpoint } from './checkpoint.ts';
import type { AnswerContent, Citation, Content, StoredFile, TurnFiles, UserPart } from './content/content.ts';

/** A model object of the AI SDK; a bare name would reach for a provider of the SDK's own. */
type Model = Exclude<LanguageModel, string>;

export interface TurnLimits {
  /** Calls of the model. */
  steps: number;
  /** Time of one tool call, unless the tool has a limit of its own. */
  toolTimeoutMs: number;
  /**
   * Longest time in which nothing comes from the model: a turn whose model still streams is not cut. How long a whole
   * answer may stream is a limit of the model.
   */
  turnTimeoutMs: number;
  /** Tokens of all steps together; checked before each step. */
  tokens?: number;
  /** Dollars of all steps together; checked before each step, of those whose price is known. */
  costUsd?: number;
}

export interface CompactionOptions {
  /** The model that writes the summary; a fast one will do. */
  model: Model;
  /** Estimated size of the conversation beyond which it is compacted. */
  tokens: number;
  /** At most this many of the newest messages stay as they are. */
  keepMessages: number;
  /** Tokens that the model takes, where its endpoint does not say. */
  window?: number | undefined;
  /** Called with the time that the summary may take, before it begins. */
  onActivity?: ((silentMs: number) => void) | undefined;
  /** Called where the summary takes long, and for each wait for its model. */
  onWait?: ((wait: ModelWait) => void) | undefined;
}

/** What decides about the tool calls of a turn. */
export interface TurnPolicy {
  /** The service, or the agent of the switchboard, whose turn it is. */
  agent: string;
  decide(request: PolicyRequest): PolicyDecision;
  /** As `decide`, without a line in the log: for what a running call meets on its way. */
  check?(request: PolicyRequest): PolicyDecision;
  /** Books a call that is about to run; the words say which budget has no room for it. */
  spend?(request: PolicyRequest): string | undefined;
  /** Gets each call that was held, refused or run, for the audit log. */
  record?(call: DecidedCall): void;
  /** Whether the operator has accepted what others say about their tools; nobody has where this is left out. */
  isAccepted?(description: ForeignDescription): boolean;
  /** What "always" does about this call, with the descriptions of others that the turn shows; the person who is asked is told. */
  always?(
    request: PolicyRequest,
    decided: PolicyDecision,
    shown: readonly ForeignDescription[],
  ): AlwaysEffect;
  /** Why no model may be asked any more; undefined while the budget has room. */
  outOfMoney?(principal: Principal, agent: string): string | undefined;
  /** Books what the model cost. */
  pay?(principal: Principal, agent: string, usd: number): void;
  /** What becomes of a call whose end is not known after a crash; default: somebody is asked, where that is possible. */
  whenInterrupted?(): 'ask' | 'fail';
  /** Who is asked: `pause` ends the turn until the answer comes; a function waits for it. Nobody when left out. */
  ask?: 'pause' | ((call: AskedCall, signal: AbortSignal) => Promise<AskAnswer>);
}

/** A call that a person has to allow. */
interface AskedCall extends AskReason {
  toolCallId: string;
  input: unknown;
  request: PolicyRequest;
}

/** `once` and `task` let the call run, `task` those like it too for the rest of the turn; else why not. */
type AskAnswer = Approval | { refused: string };

export type Approval = 'once' | 'task';

export interface TurnOptions {
  model: Model;
  instructions: string;
  tools: readonly Tool[];
  /** The tool that the model has to call: offered however small its window is. */
  requiredTool?: string | undefined;
  limits: TurnLimits;
  sessionId: string;
  /** On whose behalf the turn and its tools run. Anonymous when not given. */
  principal?: Principal | undefined;
  /** Whose memories its tools may use. */
  scope?: string | undefined;
  /** IANA zone of the person for whom the turn runs, where it is known. */
  timezone?: string | undefined;
  /** Without it the defaults decide, and a call that would have to be asked about is refused. */
  policy?: TurnPolicy | undefined;
  signal?: AbortSignal;
  /**
   * Called whenever something comes from the model, or from that of an agent it has asked, with the time that was
   * announced to be silent.
   */
  onActivity?: ((silentMs: number) => void) | undefined;
  /** Without it messages hold no stored files, and tools and the model can hand none out. */
  files?: TurnFiles | undefined;
  compaction?: CompactionOptions;
  /** Without it a turn whose process is killed begins anew. */
  steps?: TurnStepOptions | undefined;
  /** Dollars for a call of the named model, undefined when not known. */
  cost?: (model: string, tokens: TokenCounts) => number | undefined;
}

export interface RunTurnOptions extends TurnOptions {
  messages: readonly ModelMessage[];
}

export interface ResumeTurnOptions extends TurnOptions {
  /** A checkpoint as it was stored. */
  checkpoint: unknown;
  answer: string;
  /** What came with an answer that is the result of the call. */
  contents?: readonly Content[] | undefined;
  /** The call was not run, so the answer holds nothing from its tool. */
  refused?: boolean | undefined;
  /** Runs the call that waits for leave, instead of taking the answer as its result. */
  approval?: Approval | undefined;
}

/** Tokens and money of all model calls of a turn so far. */
export interface Usage {
  inputTokens: number;
  outputTokens: number;
  totalTokens: number;
  /** Absent when the price of a call is not known. */
  costUsd?: number;
  /** Where the sum is not known: that of the calls whose price is. Budgets count it. */
  knownCostUsd?: number;
  /** Set when an endpoint reported nothing for a call, which is then counted by its length. */
  estimated?: true;
}

/** Why a turn ended: the model was done (`stop`, `length`, `other`) or a limit of the turn was met. */
export type FinishReason = 'stop' | 'length' | 'other' | 'steps' | 'budget';

type TurnErrorCode = ModelErrorCode | 'turn-timeout' | 'bad-checkpoint' | 'steps-lost';

/** What stands when a turn is over, however it is over. */
interface Outcome {
  /** All text of this run: its text deltas joined. */
  text: string;
  usage: Usage;
  /** What the turn has read from outside the operator's trust; missing when nothing. */
  origins?: readonly Origin[];
}

export interface TextDelta {
  type: 'text-delta';
  text: string;
}

export interface ReasoningDelta {
  type: 'reasoning-delta';
  text: string;
}

export interface ToolStart {
  type: 'tool-start';
  toolCallId: string;
  name: string;
  input: unknown;
}

/** What a running tool says of its progress; for people, the model does not get it. */
export interface ToolProgress {
  type: 'tool-progress';
  toolCallId: string;
  name: string;
  text: string;
}

export interface ToolEnd {
  type: 'tool-end';
  toolCallId: string;
  name: string;
  result: string;
  failed: boolean;
  durationMs: number;
  /** Where the result came from, when from outside the operator's trust. */
  origins?: readonly Origin[];
  /** The rule of the policy that denied the call or had a person asked who denied it; it was not run. */
  held?: AskReason;
  /** What the call made for whoever asked. */
  files?: readonly StoredFile[];
  /** It ran before the process was killed; its start is not reported again. */
  replayed?: true;
  /** Of a call that is replayed. */
  input?: unknown;
}

interface UsageEvent extends Usage {
  type: 'usage';
}

/** Older messages were put into a summary, or dropped when there was none to be had. */
export interface CompactionEvent {
  type: 'compaction';
  summarised: boolean;
  removedMessages: number;
  tokensBefore: number;
  tokensAfter: number;
}

/** The model could not be asked and is asked again after a while. */
export interface WaitEvent extends ModelWait {
  type: 'wait';
}

/** The turn waits for an answer from outside; store the checkpoint and go on with `resumeTurn`. */
export interface PauseEvent extends Outcome {
  type: 'pause';
  toolCallId: string;
  name: string;
  input: unknown;
  question: string;
  /** The form of a running tool that asks. */
  schema?: unknown;
  /** Set where a person has to allow the call. */
  ask?: AskReason;
  checkpoint: Checkpoint;
}

export interface EndEvent extends Outcome {
  type: 'end';
  finishReason: FinishReason;
  /** The conversation with this turn in it, ready for the next one. */
  messages: ModelMessage[];
}

export interface ErrorEvent extends Outcome {
  type: 'error';
  code: TurnErrorCode;
  /** Words that say what to do. */
  message: string;
  /** How long the model's endpoint asked to wait. */
  retryAfterMs?: number;
  /** The conversation as far as it got, with the text that had arrived. */
  messages: ModelMessage[];
}

/** A turn is any number of the first nine, then exactly one of `pause`, `end` and `error`. */
export type TurnEvent =
  | TextDelta
  | ReasoningDelta
  | ToolStart
  | ToolProgress
  | ToolEnd
  | AnswerContent
  | UsageEvent
  | CompactionEvent
  | WaitEvent
  | PauseEvent
  | EndEvent
  | ErrorEvent;

/** An answer of the model. */
export interface ModelRecord {
  kind: 'model';
  at: number;
  /** Calls of the model so far, this one included. */
  steps: number;
  /** What the answer added to the conversation. */
  messages: ModelMessage[];
  /** The whole conversation with the answer, where it was compacted before. */
  conversation?: ModelMessage[];
  calls: { toolCallId: string; name: string; input: unknown; unreadable?: true }[];
  finishReason: FinishReason;
  /** Of the turn so far. */
  usage: Usage;
  /** What the person was told in this step. */
  text: string;
  files?: readonly StoredFile[];
  citations?: readonly Citation[];
}

/** A tool is about to run that must not run twice. */
export interface ToolStartRecord {
  kind: 'tool-start';
  at: number;
  call: string;
  name: string;
  /** The turn is run again from this call or one before it on: its effect may be there already. */
  again?: true;
  /** It must not run twice, although its tool may. */
  once?: true;
}

export interface ToolEndRecord {
  kind: 'tool-end';
  at: number;
  call: string;
  name: string;
  result: string;
  origins?: readonly Origin[];
  files?: readonly StoredFile[];
  attached?: readonly UserPart[];
}

/** From here on the turn was too large to be stored. */
export interface GapRecord {
  kind: 'gap';
  at: number;
  why: string;
}

export type Step = ModelRecord | ToolStartRecord | ToolEndRecord | GapRecord;

/** Where the steps of turns are stored, so that another process can go on with a turn whose own was killed. */
export interface StepLog {
  /** All steps of a turn, in order; none for a turn that has none. A StepConflictError leaves it to another process. */
  read(turn: string): Promise<readonly Step[]>;
  /**
   * Stores steps behind the `position` that the turn has. They survive the process when the promise resolves. Rejects
   * with a StepConflictError where there are others: two processes must not work on one turn.
   */
  append(turn: string, position: number, steps: readonly Step[]): Promise<void>;
}

export interface TurnStepOptions {
  log: StepLog;
  /** Id of the turn; the same when it is run again. */
  turn: string;
  /** Whether an earlier run may have stored steps. */
  resumes: boolean;
  /** Called at most once, where steps cannot be stored: the turn goes on without. */
  onProblem?: (error: unknown) => void;
}
