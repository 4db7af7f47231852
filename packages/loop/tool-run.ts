import { joinOrigins, type Origin, withOrigins } from '@trunkline/identity';
import { type CallSubject, InputRequired, type RunningTool, type ToolContext } from '@trunkline/llm';
import { Deadline, errorMessage, whenAborted } from '@trunkline/std';
import type { AskReason, CheckpointCall, ToolQuestion } from './checkpoint.ts';
import { attachTo, type Content, type StoredFile, type UserPart } from './content/content.ts';
import { grantFor, isApproved, isPermitted } from './grants.ts';
import type { RequestedCall } from './model-step.ts';
import type { Approval, ToolEnd, ToolProgress, ToolStart } from './options.ts';
import { type Prepared, prepareCall, recordCall, type ToolDeps } from './prepare-call.ts';
import { isFailure } from './repeated-calls.ts';
import { leavesTurn } from './step-log.ts';
import { originsOfTool } from './taint.ts';
import { ToolReports } from './tool-reports.ts';

/** More calls than this in one step are a model gone astray. */
const mostCalls = 32;

const longestResult = 100_000;

/** Asks where that is needed, books the call and runs it. */
async function settle(
  call: RequestedCall,
  prepared: Extract<Prepared, { kind: 'run' }>,
  deps: ToolDeps,
): Promise<Ran> {
  const { tool, input, request, ask } = prepared;
  const { policy, grants, signal } = deps;
  if (ask !== undefined && typeof policy.ask === 'function') {
    const answer = await policy.ask(
      { ...ask, toolCallId: call.toolCallId, input: call.input, request },
      signal,
    );
    if (typeof answer === 'object') {
      recordCall(deps, prepared, 'refused by a person, or not answered in time');
      return { result: `Error: ${tool.name} was not run: ${answer.refused}`, held: ask };
    }
    if (answer === 'task') grants.add(grantFor(request, input).key);
  }
  // A call that goes on with a person's answer was booked when it began.
  const spent = deps.answered === undefined ? policy.spend?.(request) : undefined;
  if (spent !== undefined) {
    recordCall(deps, prepared, 'over budget');
    return { result: `Error: ${tool.name} was not run: ${spent}.` };
  }
  const { steps } = deps;
  const isOnce = tool.isOnce?.(input, deps.sessionId);
  if (steps !== undefined && !(await steps.toolStart(deps.placeOf(call), tool, isOnce))) {
    recordCall(deps, prepared, 'not run: the step could not be stored');
    return {
      result: `Error: ${tool.name} was not run: the service could not store that it begins, and after a crash it might be done twice. Say so, and that it can be asked for again later.`,
    };
  }
  const ran = await run(call, prepared, deps);
  // What a shutdown cut off has no end that anybody knows.
  if (!signal.aborted) await steps?.toolEnd(deps.placeOf(call), tool, ran);
  const outcome = isFailure(ran.result) ? 'failed' : 'done';
  recordCall(deps, prepared, ran.question === undefined ? outcome : 'waits for a person');
  return ran;
}

interface Ran {
  result: string;
  /** In place of a result: the tool asks a person. */
  question?: ToolQuestion;
  origins?: readonly Origin[];
  held?: AskReason;
  /** It was not run, as the same call was made before. */
  isRepeat?: true;
  files?: readonly StoredFile[];
  /** What the person sent while it ran. */
  attached?: readonly UserPart[];
  replayed?: true;
}

/** Runs a tool within its time; whatever happens, the result is a text. */
async function run(
  call: RequestedCall,
  prepared: Extract<Prepared, { kind: 'run' }>,
  deps: ToolDeps,
): Promise<Ran> {
  const { tool, input, request } = prepared;
  let origins = joinOrigins(
    originsOfTool(tool, input, deps.principal),
    tool.effects?.includes('executes') ? request.origins : [],
  );
  const addOrigins = (more: readonly Origin[]) => {
    origins = joinOrigins(origins, more);
  };
  const ownWords = () => {
    origins = [];
  };
  const principal =
    request.origins.length === 0 ? deps.principal : withOrigins(request.principal, request.origins);
  const permits = (subject: CallSubject) => isPermitted(subject, prepared, deps);
  const approved = isApproved(prepared.decided);
  const made: StoredFile[] = [];
  const attach = attachTo(made, deps.files, deps.signal);
  const report = (text: string) => deps.reports?.add(call, text);
  const { files } = deps;
  const shown: Content[] = [];
  // Words about a file are not the person's: its name is in them.
  const show =
    files &&
    (async (id: string) => {
      const content = await files.content(id, deps.signal);
      shown.push({ origins: [{ kind: 'file', source: id }], ...content });
    });
  const context = { principal, addOrigins, ownWords, permits, approved, attach, show, report };
  try {
    const result = await runWithin(call, tool, input, { ...deps, ...context });
    const attached = await deps.attached(shown);
    const given = { ...(made.length > 0 && { files: made }), ...(attached.length > 0 && { attached }) };
    return { result, origins, ...given };
  } catch (error) {
    if (!(error instanceof InputRequired)) throw error;
    return { result: '', question: { text: error.message, schema: error.schema } };
  }
}

async function runWithin(
  call: RequestedCall,
  tool: RunningTool,
  input: unknown,
  deps: ToolDeps &
    Pick<ToolContext, 'addOrigins' | 'ownWords' | 'permits' | 'approved' | 'attach' | 'show' | 'report'>,
): Promise<string> {
  if (deps.signal.aborted) return stopped(tool);
  const limitMs = tool.timeoutMs ?? deps.toolTimeoutMs;
  const deadline = new Deadline({ signal: deps.signal, timeoutMs: limitMs });
  const { sessionId, principal, scope, timezone, addOrigins, ownWords, permits, approved } = deps;
  const { answered, attach, show, report, steps } = deps;
  const mayAsk = deps.policy.ask === 'pause';
  const onActivity = (silentMs: number) => {
    deadline.extend(silentMs);
    deps.onActivity?.(silentMs);
  };
  const context = {
    signal: deadline.signal,
    onActivity,
    sessionId,
    toolCallId: call.toolCallId,
    principal,
    scope,
    timezone,
    addOrigins,
    ownWords,
    report,
    permits,
    ...(steps && { idempotencyKey: steps.keyOf(deps.placeOf(call)) }),
    ...(mayAsk && { mayAsk }),
    ...(answered && { answered }),
    ...(attach && { attach }),
    ...(show && { show }),
  };
  const execution = async () => tool.execute(input, approved ? { ...context, approved } : context);
  try {
    return asText(await Promise.race([execution(), whenAborted(deadline.signal)]));
  } catch (error) {
    if (leavesTurn(error)) throw error;
    if (deadline.isExpired) {
      ownWords?.();
      return `Error: ${tool.name} took longer than ${limitMs / 1000} s and was stopped.`;
    }
    if (deps.signal.aborted) return stopped(tool);
    if (error instanceof InputRequired && mayAsk) throw error;
    return errorText(error);
  } finally {
    deadline.clear();
  }
}

const stopped = ({ name }: RunningTool): string => `Error: ${name} was stopped with the turn.`;

/** Plugins are not type-checked, so a result may be anything, and of any length. */
function asText(result: unknown): string {
  const text = typeof result === 'string' ? result : (JSON.stringify(result) ?? '');
  return text.length > longestResult ? `${text.slice(0, longestResult)}…[truncated]` : text;
}

function errorText(error: unknown): string {
  const message = errorMessage(error, 'the tool failed without saying why');
  return isFailure(message) ? message : `Error: ${message}`;
}

interface Finished extends Ran {
  index: number;
  durationMs: number;
}

/** Runs the calls of a step side by side. Calls that come back without a result wait for an answer from outside. */
export async function* runCalls(
  calls: RequestedCall[],
  deps: ToolDeps,
  approved?: Approval,
): AsyncGenerator<ToolStart | ToolProgress | ToolEnd, CheckpointCall[]> {
  const reports = new ToolReports();
  const outcomes = calls.map(({ toolCallId, name, input }): CheckpointCall => ({ toolCallId, name, input }));
  const running = new Map<number, Promise<Finished>>();
  deps.repeated.newAnswer();
  for (const [index, call] of calls.entries()) {
    const work = await begin(call, index, { ...deps, reports }, approved);
    if (typeof work !== 'function') {
      Object.assign(outcomes[index] ?? {}, work.ask && { ask: work.ask });
      continue;
    }
    if (deps.answered === undefined && deps.steps?.replayCall(deps.placeOf(call)) === undefined)
      yield { type: 'tool-start', toolCallId: call.toolCallId, name: call.name, input: call.input };
    running.set(index, timed(index, work));
  }
  while (running.size > 0) {
    const finished = await Promise.race([reports.arrival, ...running.values()]);
    if (finished !== undefined) {
      running.delete(finished.index);
      reports.end(calls[finished.index]?.toolCallId ?? '');
    }
    yield* finished === undefined ? reports.take() : conclude(finished);
  }
  return outcomes;

  function* conclude(finished: Finished): Generator<ToolEnd> {
    const { index, result, question, origins = [], held, files, attached, replayed, durationMs } = finished;
    const [call, outcome] = [calls[index], outcomes[index]];
    if (call === undefined || outcome === undefined) return;
    if (question !== undefined) {
      outcome.question = question;
      return;
    }
    outcome.result = result;
    Object.assign(outcome, origins.length > 0 && { origins }, files && { files }, attached && { attached });
    const failed = isFailure(result);
    if (!finished.isRepeat)
      deps.repeated.record(call, { result, failed, effects: deps.tools.get(call.name)?.effects });
    const { toolCallId, name } = call;
    const marked = { ...(origins.length > 0 && { origins }), ...(held && { held }), ...(files && { files }) };
    const past = replayed && { replayed, input: call.input };
    yield { type: 'tool-end', toolCallId, name, result, failed, durationMs, ...marked, ...past };
  }
}

/** The work of a call; where it waits for an answer, why a person is asked. */
async function begin(
  call: RequestedCall,
  index: number,
  deps: ToolDeps,
  approved: Approval | undefined,
): Promise<(() => Promise<Ran>) | { ask?: AskReason }> {
  if (index >= mostCalls)
    return async () => ({ result: `Error: too many calls in one step; the first ${mostCalls} were run.` });
  const before = deps.steps?.replayCall(deps.placeOf(call));
  if (before !== undefined) {
    deps.repeated.begin(call);
    return async () => ({ ...before, replayed: true });
  }
  const prepared = await prepareCall(call, deps, approved);
  if (prepared.kind === 'refuse') return async () => prepared;
  deps.repeated.begin(call);
  if (prepared.kind === 'wait') return prepared;
  return () => settle(call, prepared, deps);
}

async function timed(index: number, work: () => Promise<Ran>): Promise<Finished> {
  const [start, ran] = [performance.now(), await work()];
  return { index, ...ran, durationMs: Math.round(performance.now() - start) };
}
