import { isDeepStrictEqual } from 'node:util';
import { runTurn } from '@trunkline/loop';
import type { Sandbox } from '@trunkline/sandbox';
import { changedWords, commandSubject, runCommand, WorkspaceSandbox } from '@trunkline/tools';
import type { Goal, GoalApproval, GoalStore, GoalVerifier } from '../stores/goals/goal-store.ts';
import { StoreError } from '../stores/store-error.ts';
import type { GoalWatch, Verdict } from '../turns/executor.ts';
import type { Graph } from '../turns/graph.ts';

const commandLimitMs = 120_000;

const maxOutputLength = 8000;

const judgement =
  'You judge whether a goal is reached, from what an agent reports. Begin your answer with YES or NO, then say why in one sentence.';

const MAX_EVIDENCE_LENGTH = 2000;
const MAX_FILE_BYTES = 16 * 1024 ** 2;

export interface GoalKeeperOptions {
  goals: GoalStore;
  verifiers: GoalVerifiers;
  limits(): { max_iterations: number; no_progress_limit: number };
}

/** Looks after each turn whether the session has a goal, and sends the agent on until it is reached or given up. */
export function createGoalKeeper({ goals, verifiers, limits }: GoalKeeperOptions): GoalWatch {
  const check: GoalWatch = async (ended, signal) => {
    if ((await goals.get(ended.sessionId))?.status !== 'active') return undefined;
    const { max_iterations: maxIterations, no_progress_limit: noProgressLimit } = limits();
    const options = { goals, verifiers, maxIterations, noProgressLimit };
    const goal = await checkGoal(ended, options, signal);
    if (goal === undefined) return undefined;
    if (goal.status === 'active') return { goOnWith: goalReminder(goal) };
    if (goal.status === 'achieved') return undefined;
    return { note: `The goal was not reached: ${goal.reason}.` };
  };
  return (...given) => check(...given).catch(noteOfDamage);
}

/** A goal that cannot be read takes no answer away that was given. */
function noteOfDamage(error: unknown): Verdict {
  if (error instanceof StoreError) return { note: error.message };
  throw error;
}

/** What a look at the world found. */
export interface Finding {
  reached: boolean;
  evidence: string;
}

/** The ways to look; one for each type of verifier. */
export interface GoalVerifiers {
  /** Runs a command as it was approved; exit code 0 means reached. */
  command(command: string, approval: GoalApproval | undefined, signal: AbortSignal): Promise<Finding>;
  /** Reads a file of the workspace. */
  data(path: string, contains: string): Promise<Finding>;
  /** Lets a model judge what the agent has said. */
  llm(condition: string, output: string, signal: AbortSignal): Promise<Finding>;
}

interface GoalCheckOptions {
  goals: GoalStore;
  verifiers: GoalVerifiers;
  maxIterations: number;
  /** So many checks in a row with the same evidence, and the goal is given up. */
  noProgressLimit: number;
}

interface CheckedTurn {
  sessionId: string;
  output: string;
  turns?: number;
}

/** Looks after a turn whether the session's goal is reached, and says in `status` whether to go on (`active`) or not. */
export async function checkGoal(
  { sessionId, output, turns = 1 }: CheckedTurn,
  { goals, verifiers, maxIterations, noProgressLimit }: GoalCheckOptions,
  signal: AbortSignal,
): Promise<Goal | undefined> {
  const goal = await goals.get(sessionId);
  if (goal?.status !== 'active') return goal;
  const finding = await look(goal, output, verifiers, signal);
  const current = await goals.get(sessionId);
  // Dropped or replaced while the check ran: the finding is not about it.
  if (!isDeepStrictEqual(current, goal)) return current;
  const evidence = finding.evidence.slice(-MAX_EVIDENCE_LENGTH);
  // An agent that sets its goal again in every turn restarts the count of checks, but not the count of turns.
  const iteration = Math.max(goal.iteration + 1, turns);
  const stuck = evidence === goal.evidence ? goal.stuck + 1 : 1;
  const verdict = (): Pick<Goal, 'status' | 'reason'> => {
    if (finding.reached) return { status: 'achieved', reason: 'the check succeeded' };
    if (stuck >= noProgressLimit)
      return { status: 'unachievable', reason: `${stuck} checks in a row found the same` };
    if (iteration >= maxIterations)
      return { status: 'exhausted', reason: `not reached in ${iteration} attempts` };
    return { status: 'active', reason: '' };
  };
  return await goals.save({ ...goal, ...verdict(), iteration, stuck, evidence });
}

/** What to tell the agent when it is to go on. */
export function goalReminder({ condition, evidence }: Goal): string {
  return `The goal is not reached yet: ${condition}\nThe last check found: ${evidence || 'nothing'}\nGo on until it is reached.`;
}

function look(goal: Goal, output: string, verifiers: GoalVerifiers, signal: AbortSignal): Promise<Finding> {
  const verifier: GoalVerifier = goal.verifier;
  switch (verifier.type) {
    case 'command':
    case 'test':
      return verifiers.command(verifier.command, goal.approval, signal);
    case 'data':
      return verifiers.data(verifier.path, verifier.contains);
    case 'llm':
      return verifiers.llm(goal.condition, output, signal);
  }
}

interface GoalVerifierOptions {
  workspace: string;
  /** Whether the operator has turned commands on. */
  mayRun(): boolean;
  /** Where programs are looked for. */
  path: string;
  sandbox: Sandbox;
  graph(): Promise<Graph>;
}

/** The ways to find out whether a goal is reached. */
export function createGoalVerifiers(options: GoalVerifierOptions): GoalVerifiers {
  return {
    command: (command, approval, signal) => checkByCommand(command, approval, signal, options),
    data: (path, contains) => checkByFile(options.workspace, path, contains),
    llm: (condition, output, signal) => checkByModel(condition, output, signal, options),
  };
}

async function checkByCommand(
  command: string,
  approval: GoalApproval | undefined,
  signal: AbortSignal,
  { workspace: directory, path, mayRun, sandbox }: GoalVerifierOptions,
): Promise<Finding> {
  const obstacle = await whyNot(command, approval, directory, mayRun);
  if (obstacle !== undefined) return { reached: false, evidence: `The check did not run: ${obstacle}` };
  const limits = { directory, path, timeoutMs: commandLimitMs, signal, sandbox };
  const { exitCode, output } = await runCommand(command, limits);
  return {
    reached: exitCode === 0,
    evidence: `exit code ${exitCode ?? 'none, it took too long'}\n${output}`,
  };
}

/** Why a command may not run now; undefined when it is still as it was approved. */
async function whyNot(
  command: string,
  approval: GoalApproval | undefined,
  directory: string,
  mayRun: () => boolean,
): Promise<string | undefined> {
  if (!mayRun()) return 'commands are off (filesystem.run_command in the configuration).';
  if (approval === undefined) return 'nobody approved its command. Set the goal anew.';
  const now = await commandSubject('', command, directory);
  const approved = { ...now, ...approval };
  return isDeepStrictEqual(now, approved)
    ? undefined
    : `${changedWords(now, approved)} Set the goal anew to have it approved.`;
}

async function checkByFile(workspace: string, path: string, contains: string): Promise<Finding> {
  try {
    const content = await new WorkspaceSandbox(workspace).read(path, MAX_FILE_BYTES);
    const reached = content.includes(contains);
    return { reached, evidence: `${path} ${reached ? 'has' : 'does not have'} what is wanted` };
  } catch (error) {
    return { reached: false, evidence: `${path} cannot be read: ${(error as Error).message}` };
  }
}

async function checkByModel(
  condition: string,
  output: string,
  signal: AbortSignal,
  { graph }: GoalVerifierOptions,
): Promise<Finding> {
  const { model: modelOf, limits, cost } = await graph();
  const model = modelOf();
  const content = `Goal: ${condition}\n\nReport:\n${output.slice(-maxOutputLength)}`;
  const events = runTurn({
    model,
    instructions: judgement,
    tools: [],
    limits: { ...limits(model), steps: 1 },
    sessionId: 'goal-check',
    signal,
    cost,
    messages: [{ role: 'user', content }],
  });
  let answer = '';
  for await (const event of events) if (event.type === 'end') answer = event.text;
  return { reached: /^\W*yes\b/i.test(answer), evidence: answer };
}
