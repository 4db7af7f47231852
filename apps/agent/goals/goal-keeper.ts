import { checkGoal, type GoalVerifiers, goalReminder } from '../stores/goals/goal-check.ts';
import type { GoalStore } from '../stores/goals/goal-store.ts';
import { StoreError } from '../stores/store-error.ts';
import type { GoalWatch, Verdict } from '../turns/executor.ts';

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
