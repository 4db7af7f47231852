import type { Intent, Recognised, Situation } from '../types.ts';
import { calculate, fetchPage, lookUpQuestion, search, tellTime } from './basics.ts';
import { board, goal, inbox, incidents } from './board.ts';
import { byName } from './by-name.ts';
import { askMe, clarify, delegate, form } from './delegate.ts';
import { dailyLog, listMemories, notes, recall, remember } from './notes.ts';
import { cancelSchedule, listSchedules, scheduleTask } from './schedule.ts';

/** Every wish the demo model knows; the first that recognises a clause is taken, so the narrow ones stand first. */
export const intents: readonly Intent[] = [
  remember,
  dailyLog,
  scheduleTask,
  listSchedules,
  cancelSchedule,
  form,
  askMe,
  delegate,
  listMemories,
  notes,
  board,
  inbox,
  incidents,
  goal,
  calculate,
  tellTime,
  fetchPage,
  recall,
  clarify,
  search,
  byName,
  lookUpQuestion,
];

/** A longer clause is a text, not a wish; looking for wishes in it would only cost time. */
const longestClause = 2000;

export function recognise(clause: string, situation: Situation): Recognised {
  if (clause.length > longestClause) return undefined;
  for (const intent of intents) {
    const found = intent.recognise(clause, situation);
    if (found !== undefined) return found;
  }
  return undefined;
}
