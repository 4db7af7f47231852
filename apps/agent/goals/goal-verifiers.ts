import { readFile } from 'node:fs/promises';
import { isDeepStrictEqual } from 'node:util';
import { runTurn } from '@trunkline/loop';
import { resolveInside } from '@trunkline/storage';
import { changedWords, commandSubject, runCommand } from '@trunkline/tools';
import type { Finding, GoalVerifiers } from '../stores/goals/goal-check.ts';
import type { GoalApproval } from '../stores/goals/goal-store.ts';
import type { Graph } from '../turns/graph.ts';

export interface GoalVerifierOptions {
  workspace: string;
  /** Whether the operator has turned commands on. */
  mayRun(): boolean;
  /** Where programs are looked for. */
  path: string;
  graph(): Promise<Graph>;
}

const commandLimitMs = 120_000;
const maxOutputLength = 8000;
const judgement =
  'You judge whether a goal is reached, from what an agent reports. Begin your answer with YES or NO, then say why in one sentence.';

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
  { workspace: directory, path, mayRun }: GoalVerifierOptions,
): Promise<Finding> {
  const obstacle = await whyNot(command, approval, directory, mayRun);
  if (obstacle !== undefined) return { reached: false, evidence: `The check did not run: ${obstacle}` };
  const limits = { directory, path, timeoutMs: commandLimitMs, signal };
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
    const text = await readFile(resolveInside(workspace, path), 'utf8');
    const reached = text.includes(contains);
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
  const { model, limits, cost } = await graph();
  const content = `Goal: ${condition}\n\nReport:\n${output.slice(-maxOutputLength)}`;
  const events = runTurn({
    model: model(),
    instructions: judgement,
    tools: [],
    limits: { ...limits, steps: 1 },
    sessionId: 'goal-check',
    signal,
    cost,
    messages: [{ role: 'user', content }],
  });
  let answer = '';
  for await (const event of events) if (event.type === 'end') answer = event.text;
  return { reached: /^\W*yes\b/i.test(answer), evidence: answer };
}
