import { isDeepStrictEqual } from 'node:util';
import type { Goal, GoalApproval, GoalStore, GoalVerifier } from './goal-store.ts';

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

export interface GoalCheckOptions {
  goals: GoalStore;
  verifiers: GoalVerifiers;
  maxIterations: number;
  /** So many checks in a row with the same evidence, and the goal is given up. */
  noProgressLimit: number;
}

const MAX_EVIDENCE_LENGTH = 2000;

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
  // Dropped or set anew while the check ran: what was found is not about it.
  if (!isDeepStrictEqual(current, goal)) return current;
  const evidence = finding.evidence.slice(-MAX_EVIDENCE_LENGTH);
  // An agent that sets its goal anew in every turn begins to count anew; its turns count on.
  const iteration = Math.max(goal.iteration + 1, turns);
  const stuck = evidence === goal.evidence ? goal.stuck + 1 : 1;
  const verdict = verdictOf({ reached: finding.reached, iteration, stuck, maxIterations, noProgressLimit });
  return await goals.save({ ...goal, ...verdict, iteration, stuck, evidence });
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

interface Standing {
  reached: boolean;
  iteration: number;
  stuck: number;
  maxIterations: number;
  noProgressLimit: number;
}

function verdictOf({
  reached,
  iteration,
  stuck,
  maxIterations,
  noProgressLimit,
}: Standing): Pick<Goal, 'status' | 'reason'> {
  if (reached) return { status: 'achieved', reason: 'the check succeeded' };
  if (stuck >= noProgressLimit)
    return { status: 'unachievable', reason: `${stuck} checks in a row found the same` };
  if (iteration >= maxIterations)
    return { status: 'exhausted', reason: `not reached in ${iteration} attempts` };
  return { status: 'active', reason: '' };
}
