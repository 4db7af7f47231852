import { joinOrigins } from '@trunkline/identity';
import { type AnsweredInput, ModelError, type ModelErrorCode } from '@trunkline/llm';
import { decideByDefault } from '@trunkline/policy';
import { Deadline } from '@trunkline/std';
import type { ModelMessage } from 'ai';
import { repairStep } from './argument-repair.ts';
import {
  type CheckpointCall,
  CheckpointError,
  createCheckpoint,
  openCall,
  parseCheckpoint,
  questionOf,
} from './checkpoint.ts';
import { answerEvents, answerOf, citedOrigins, type ThoughtStep } from './content/answer.ts';
import { attachedParts, refusedMedium, withFiles } from './content/content.ts';
import { calibrate, fitAfterOverflow, fitStep } from './fitting.ts';
import { isKnownUrl, quotesUrl } from './known-addresses.ts';
import { type ModelStep, streamStep } from './model-step.ts';
import type {
  Approval,
  ErrorEvent,
  FinishReason,
  ResumeTurnOptions,
  RunTurnOptions,
  TextDelta,
  TurnEvent,
  TurnOptions,
  TurnPolicy,
} from './options.ts';
import type { ToolDeps } from './prepare-call.ts';
import { repeatedIn } from './repeated-calls.ts';
import { numbered, placeOf, StepLogError, TurnSteps } from './step-log.ts';
import {
  createFenceFilter,
  isAskedFor,
  isPersonLast,
  markRequest,
  originsIn,
  repeatsPerson,
  withoutFences,
} from './taint.ts';
import { runCalls } from './tool-run.ts';
import {
  answeredCall,
  bookUsage,
  createTurn,
  describedOrigins,
  emptyState,
  promptOf,
  type ReachedLimit,
  reachedLimit,
  settle,
  type Turn,
  type TurnState,
} from './turn-state.ts';
import { noUsage } from './usage.ts';

/** One turn of the agent. Failures are events too; the last event is `pause`, `end` or `error`, and there is one of them. */
export function runTurn({ messages, ...options }: RunTurnOptions): AsyncGenerator<TurnEvent, void> {
  const marked = markRequest(messages, options.principal?.origins);
  return guarded(options, { ...emptyState(), messages: marked, origins: originsIn(marked) });
}

/** Goes on with a paused turn, in this process or another, with the answer to its first open question. */
export async function* resumeTurn({
  checkpoint,
  answer,
  contents,
  refused,
  approval,
  ...options
}: ResumeTurnOptions): AsyncGenerator<TurnEvent, void> {
  try {
    const { messages, calls, usage, steps, grants } = parseCheckpoint(checkpoint);
    const open = openCall(calls);
    const runsAgain = open?.question !== undefined || (approval !== undefined && open?.ask !== undefined);
    const read = refused ? undefined : originsIn(messages);
    const given = open && !runsAgain ? await answeredCall(open, answer, options, read, contents) : open;
    const state: TurnState = {
      ...emptyState(),
      messages,
      calls: calls.map((call) => (call === open && given ? given : call)),
      usage,
      steps,
      origins: originsIn(messages),
      grants: new Set(grants),
    };
    const question = open?.question;
    const said = question && { text: answer, schema: question.schema };
    yield* guarded(options, state, question ? 'once' : approval, said);
  } catch (error) {
    if (!(error instanceof CheckpointError)) throw error;
    yield { type: 'error', code: error.code, message: error.message, text: '', usage: noUsage, messages: [] };
  }
}

/** Sets the time limit and turns failures of the model into the last event. */
async function* guarded(
  options: TurnOptions,
  state: TurnState,
  approval?: Approval,
  said?: AnsweredInput,
): AsyncGenerator<TurnEvent, void> {
  const deadline = new Deadline({ signal: options.signal, timeoutMs: options.limits.turnTimeoutMs });
  try {
    const { signal } = deadline;
    state.origins = joinOrigins(state.origins, describedOrigins(options));
    const steps = options.steps && (await TurnSteps.open(options.steps));
    const onActivity = (silentMs: number) => {
      deadline.extend(silentMs);
      options.onActivity?.(silentMs);
    };
    const deps = { ...toolDeps(options, signal, state), steps, onActivity };
    const turn = createTurn({ ...options, onActivity }, signal, state, deps);
    if (approval !== undefined) yield* runApproved(turn, approval, said);
    yield* drive(turn);
  } catch (error) {
    if (!(error instanceof ModelError || error instanceof StepLogError)) throw error;
    yield failure(error, state, options, deadline);
  } finally {
    // Whoever leaves early leaves nothing running.
    deadline.abort();
  }
}

function toolDeps(options: TurnOptions, signal: AbortSignal, state: TurnState): ToolDeps {
  const { tools, limits, sessionId, principal, scope, timezone, files, policy = defaultPolicy } = options;
  const byName = new Map(tools.map((tool) => [tool.name, tool]));
  return {
    tools: byName,
    toolTimeoutMs: limits.toolTimeoutMs,
    sessionId,
    principal,
    scope,
    timezone,
    files,
    attached: (contents) => attachedParts(contents, options.model, signal),
    signal,
    repeated: repeatedIn(state.messages, byName),
    policy,
    origins: () => state.origins,
    isKnownUrl: (url) => isKnownUrl(url, state.messages),
    isPersonLast: () => isPersonLast(state.messages),
    isAskedFor: (call) => isAskedFor(state.messages, call),
    repeatsPerson: (input) => repeatsPerson(state.messages, input),
    quotesUrl: (url) => quotesUrl(url, state.messages),
    grants: state.grants,
    placeOf: (call) => placeOf(state.steps, call),
  };
}

/** How often a step that was too long for the model is tried again. */
const mostOverflows = 2;

const defaultPolicy: TurnPolicy = { agent: '', decide: decideByDefault };

/** Runs the call that a person has just allowed, or goes on with the one whose question they answered. */
async function* runApproved(
  { state, deps }: Turn,
  approval: Approval,
  said: AnsweredInput | undefined,
): AsyncGenerator<TurnEvent> {
  const open = openCall(state.calls);
  if (open === undefined) return;
  const { toolCallId, name, input } = open;
  const [done = open] = yield* runCalls(
    [{ toolCallId, name, input }],
    said ? { ...deps, answered: said } : deps,
    approval,
  );
  state.calls = state.calls.map((call) => (call === open ? done : call));
  if (approval !== 'task') return;
  // The answer may be for others of the same step as well; those it is not for wait on.
  for (const call of state.calls.filter(({ ask, result }) => ask !== undefined && result === undefined)) {
    const [again = call] = yield* runCalls([call], deps);
    state.calls = state.calls.map((each) => (each === call ? again : each));
  }
}

async function* drive(turn: Turn): AsyncGenerator<TurnEvent, void> {
  const { state, signal, deps } = turn;
  for (;;) {
    if (signal.aborted) throw new ModelError('aborted');
    const open = openCall(state.calls);
    if (open !== undefined) return yield pause(state, open);
    settle(state);
    const limit = reachedLimit(turn);
    if (limit !== undefined) return yield* stopAt(limit, state);
    const { calls, finishReason } = (yield* replayStep(turn)) ?? (yield* nextStep(turn));
    if (calls.length === 0) return yield end(state, finishReason);
    state.calls = yield* runCalls(numbered(calls), deps);
  }
}

type StepOutcome = Pick<ModelStep, 'calls' | 'finishReason'>;

/** The answer that the model gave before the process was killed. */
function* replayStep({ state, deps }: Turn): Generator<TurnEvent, StepOutcome | undefined> {
  const record = deps.steps?.replayModel();
  if (record === undefined) return undefined;
  state.messages = record.conversation ?? [...state.messages, ...record.messages];
  state.usage = record.usage;
  state.steps = record.steps;
  state.text += record.text;
  if (record.text !== '') yield { type: 'text-delta', text: record.text };
  yield* answerEvents(record);
  state.origins = joinOrigins(state.origins, citedOrigins(record.citations));
  yield { type: 'usage', ...state.usage };
  return record;
}

/** Asks the model, and stores what it answers. */
async function* nextStep(turn: Turn): AsyncGenerator<TurnEvent, StepOutcome> {
  const { state, deps } = turn;
  const { length } = state.text;
  const before = [...state.messages];
  yield* fitStep(turn);
  const { calls, finishReason, messages, files, citations } = yield* thinkUsably(turn);
  if (deps.steps === undefined) return { calls, finishReason };
  const expected = [...before, ...messages];
  const isPlain =
    expected.length === state.messages.length && expected.every((each, at) => each === state.messages[at]);
  await deps.steps.model({
    steps: state.steps,
    messages: isPlain ? messages : [],
    ...(!isPlain && { conversation: state.messages }),
    calls,
    finishReason,
    usage: state.usage,
    text: state.text.slice(length),
    ...(files.length > 0 && { files }),
    ...(citations.length > 0 && { citations }),
  });
  return { calls, finishReason };
}

function* stopAt({ finishReason, words }: ReachedLimit, state: TurnState): Generator<TurnEvent> {
  yield speak(words, state);
  state.messages.push({ role: 'assistant', content: words });
  yield end(state, finishReason);
}

/** What a model is told that gave an answer of no use. */
const nudges: Partial<Record<ModelErrorCode, string>> = {
  'empty-answer': 'Your last answer was empty. Answer me now in plain words, or call a tool.',
  'malformed-call':
    'Your last tool call could not be read. Call the tool again with arguments that are valid JSON, or answer in plain words.',
};

/** A step that is of use: after one that is not, the model is asked once more, with a nudge. */
async function* thinkUsably(turn: Turn): AsyncGenerator<TurnEvent, ThoughtStep> {
  try {
    return yield* thinkWithin(turn);
  } catch (error) {
    const nudge = error instanceof ModelError ? nudges[error.code] : undefined;
    if (nudge === undefined) throw error;
    return yield* thinkWithin(turn, nudge);
  }
}

/** A step of the model. What is too long for it is compacted and tried again, twice at most. */
async function* thinkWithin(turn: Turn, nudge?: string): AsyncGenerator<TurnEvent, ThoughtStep> {
  for (let retries = 0; ; retries += 1) {
    try {
      return yield* thinkSeeing(turn, nudge);
    } catch (error) {
      const isOverflow = error instanceof ModelError && error.code === 'context-too-long';
      if (!isOverflow || retries === mostOverflows || turn.state.stepText !== '') throw error;
      yield* fitAfterOverflow(turn, error);
    }
  }
}

/** A step of a model that may not take images or sound: then it is asked again, with words about them. */
async function* thinkSeeing(turn: Turn, nudge?: string): AsyncGenerator<TurnEvent, ThoughtStep> {
  try {
    return yield* think(turn, nudge);
  } catch (error) {
    const medium = refusedMedium(error, turn.state.messages);
    if (medium === undefined || turn.untaken.has(medium) || turn.state.stepText !== '') throw error;
    turn.untaken.add(medium);
    return yield* thinkSeeing(turn, nudge);
  }
}

/** A model that was shown no fence has none to repeat. */
const noFences: ReturnType<typeof createFenceFilter> = { push: (text) => text, end: () => '' };

/** One call of the model: what it says goes out at once, what it did goes into the state. */
async function* think(turn: Turn, nudge?: string): AsyncGenerator<TurnEvent, ThoughtStep> {
  const { state, options, signal, deps } = turn;
  state.stepText = '';
  const { model, sessionId, onActivity } = options;
  const prompt = promptOf(turn);
  const view = { files: options.files, untaken: turn.untaken, signal };
  prompt.messages = await withFiles(prompt.messages, view);
  const messages = nudge ? [...prompt.messages, { role: 'user' as const, content: nudge }] : prompt.messages;
  const request = { ...prompt, model, sessionId, tools: turn.offered.tools, signal, messages, onActivity };
  const { border } = turn;
  const filter = border === undefined ? noFences : createFenceFilter(border);
  const said = yield* streamStep(request, (text) => speak(filter.push(text), state));
  const rest = filter.end();
  if (rest !== '') yield speak(rest, state);
  const own = border === undefined ? said.messages : withoutFences(said.messages, border);
  const step = await repairStep({ ...said, messages: own }, deps.tools);
  const { answer, problems } = await answerOf(step, options.files, state.text.length - state.stepText.length);
  for (const words of problems) yield speak(state.stepText === '' ? words : `\n\n${words}`, state);
  yield* answerEvents(answer);
  yield* record(answer, turn);
  if (step.fault) throw step.fault;
  return answer;
}

function* record(step: ModelStep, turn: Turn): Generator<TurnEvent> {
  const { state, options } = turn;
  const { model, instructions } = options;
  const models = [step.model, model.modelId].filter((name) => name !== undefined);
  const input: ModelMessage[] = [{ role: 'system', content: instructions }, ...state.messages];
  const toolTokens = turn.offered.tokens;
  state.origins = joinOrigins(state.origins, citedOrigins(step.citations));
  calibrate(turn, step.usage?.inputTokens);
  bookUsage({ models, reported: step.usage, input, output: step.messages, toolTokens }, state, options);
  if (step.fault === undefined || step.fault.code === 'content-filter') state.messages.push(...step.messages);
  state.steps += 1;
  state.stepText = '';
  yield { type: 'usage', ...state.usage };
}

/** Text goes out as it comes; a blank line parts it from what an earlier step said. */
function speak(text: string, state: TurnState): TextDelta {
  const isNewStep = state.stepText === '' && state.text !== '';
  const spoken = isNewStep && text !== '' ? `\n\n${text}` : text;
  state.text += spoken;
  state.stepText += text;
  return { type: 'text-delta', text: spoken };
}

function end(state: TurnState, finishReason: FinishReason): TurnEvent {
  const { text, usage, messages } = state;
  return { type: 'end', finishReason, text, usage, messages, ...readBy(state) };
}

function readBy({ origins }: TurnState) {
  return origins.length === 0 ? {} : { origins };
}

function pause(state: TurnState, open: CheckpointCall): TurnEvent {
  const { messages, calls, usage, steps, text, grants } = state;
  const { toolCallId, name, input, ask, question: asking } = open;
  const allowed = grants.size === 0 ? {} : { grants: [...grants] };
  const checkpoint = createCheckpoint({ messages, calls, usage, steps, ...allowed });
  const question = questionOf(open);
  const asked = ask === undefined ? {} : { ask };
  return {
    type: 'pause',
    toolCallId,
    name,
    input,
    question,
    checkpoint,
    text,
    usage,
    ...asked,
    ...(asking?.schema !== undefined && { schema: asking.schema }),
    ...readBy(state),
  };
}

/** The error as the last event, with whatever had been said and done. */
function failure(
  error: ModelError | StepLogError,
  state: TurnState,
  { limits }: TurnOptions,
  deadline: Deadline,
): ErrorEvent {
  settle(state);
  if (state.stepText !== '') state.messages.push({ role: 'assistant', content: state.stepText });
  const { text, usage, messages } = state;
  const { code, message } = deadline.isExpired ? outOfTime(limits.turnTimeoutMs) : error;
  const retryAfterMs = error instanceof ModelError ? error.retryAfterMs : undefined;
  const asked = retryAfterMs === undefined ? {} : { retryAfterMs };
  return { type: 'error', code, message, text, usage, messages, ...asked, ...readBy(state) };
}

function outOfTime(limitMs: number): Pick<ErrorEvent, 'code' | 'message'> {
  return {
    code: 'turn-timeout',
    message: `The turn was stopped: nothing came for longer than ${limitMs / 1000} s. Ask for less at once, or allow more time.`,
  };
}
