import type { Call, Intent, OfferedTool, Recognised, Situation } from '../request.ts';
import { callOf, mainParameter } from '../schema.ts';
import { contentWords, wordsIn } from '../text.ts';
import { calculate, fetchPage, lookUp, lookUpQuestion, runCommand, search, tellTime } from './basics.ts';
import { agenda, board, goal, inbox, incidents } from './board.ts';
import { askMe, clarify, delegate, form } from './delegate.ts';
import { dailyLog, listMemories, notes, recall, remember } from './notes.ts';
import { cancelSchedule, listSchedules, scheduleTask, setReminder } from './schedule.ts';

/** Verbs that mean the same at the head of a tool's name. */
const sameVerbs = [
  ['get', 'list', 'show', 'read', 'fetch', 'find', 'display', 'what'],
  ['create', 'add', 'new', 'report', 'file', 'open', 'post', 'publish'],
  ['run', 'start', 'execute', 'launch', 'trigger'],
  ['delete', 'remove', 'cancel'],
];

/** Tools without an intent of their own, such as those of an MCP server: called when the clause has all words of the name. */
const byName: Intent = {
  tools: [],
  examples: [],
  recognise(clause, { tools }) {
    const said = new Set(wordsIn(clause).map(stem));
    for (const tool of tools.values()) {
      const call = namedCall(tool, clause, said);
      if (call !== undefined) return [call];
    }
    return undefined;
  },
};

/** Every wish the demo model knows; the first that recognises a clause is taken, so the narrow ones stand first. */
export const intents: readonly Intent[] = [
  remember,
  goal,
  dailyLog,
  scheduleTask,
  setReminder,
  listSchedules,
  cancelSchedule,
  runCommand,
  form,
  askMe,
  delegate,
  listMemories,
  agenda,
  notes,
  board,
  inbox,
  incidents,
  calculate,
  tellTime,
  fetchPage,
  recall,
  clarify,
  search,
  lookUp,
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

function namedCall(tool: OfferedTool, clause: string, said: Set<string>): Call | undefined {
  const nameWords = partsOf(tool.name).map(stem);
  if (nameWords.length < 2 || !nameWords.every((word) => synonyms(word).some((same) => said.has(same))))
    return undefined;
  const spoken = new Set(nameWords.flatMap(synonyms));
  const rest = contentWords(clause)
    .filter((word) => !spoken.has(stem(word)))
    .join(' ');
  const parameter = mainParameter(tool);
  if (rest === '' && (tool.schema.required ?? []).length > 0) return undefined;
  return callOf(tool, parameter === undefined || rest === '' ? {} : { [parameter]: rest }, rest);
}

/** Words of "repo_get_pr", "searchWeb" or "server.list-things". */
function partsOf(name: string): string[] {
  return name
    .replace(/([a-z\d])([A-Z])/g, '$1 $2')
    .toLowerCase()
    .split(/[^a-z\d]+/)
    .filter(Boolean);
}

function synonyms(word: string): string[] {
  return sameVerbs.find((verbs) => verbs.includes(word)) ?? [word];
}

function stem(word: string): string {
  return word.length > 3 ? word.replace(/ies$/, 'y').replace(/s$/, '') : word;
}
