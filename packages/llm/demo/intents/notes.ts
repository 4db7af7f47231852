import { offeredCall } from '../schema.ts';
import { contentWords, trimPhrase } from '../text.ts';
import type { Call, Intent, Situation } from '../types.ts';

const remembers =
  /^(?:remember|memori[sz]e|keep in mind|don't forget|do not forget|make a mental note|store in memory|save to memory)(?:[:,]|\s+this[:,]?)?\s+(?:that\s+)?(.+)$/is;

const pointsBack = /^(?:it|this|that|them|the (?:result|answer)s?)$/i;

export const remember: Intent = {
  tools: ['memory_ingest'],
  example: 'Remember that my door code is 4711',
  recognise(clause, situation) {
    const content = remembers.exec(clause)?.[1];
    return content === undefined
      ? undefined
      : offeredCall('memory_ingest', { content: saidOrMeant(content, situation) }, situation);
  },
};

const recalls =
  /^(?:do you (?:remember|know|recall)|what do you (?:remember|know|recall)(?: about)?|recall|what did i (?:tell|say)(?: to you| you)?(?: about)?|(?:what|where|when|who|which|how)(?:'s|\s+\w+)? my|(?:what|where|when|who|which) (?:do|did|does|am|is|are|was|were|have) i\b|search (?:your |my |the )?memory for)\b\s*(.*)$/i;

const wantsAll = /^(?:me|everything|anything)?$/i;

export const recall: Intent = {
  tools: ['memory_recall'],
  example: 'What is my door code?',
  recognise(clause, situation) {
    const wanted = recalls.exec(trimPhrase(clause))?.[1];
    if (wanted === undefined) return undefined;
    if (wantsAll.test(wanted))
      return (
        offeredCall('memory_list', {}, situation) ??
        offeredCall('memory_recall', { query: 'user' }, situation)
      );
    return offeredCall(
      'memory_recall',
      { query: contentWords(clause.replace(/\b(?:remember|recall|memory)\b/gi, '')).join(' ') },
      situation,
    );
  },
};

export const listMemories: Intent = {
  tools: ['memory_list', 'memory_stats'],
  example: 'List your memories',
  recognise(clause, situation) {
    if (/\bmemor(?:y|ies)\b.*\b(?:stat|count)|how many memor/i.test(clause))
      return offeredCall('memory_stats', {}, situation);
    return /^(?:list|show)(?: me)?(?: all)?(?: of)?(?: your| my| the)? (?:recent )?memor/i.test(clause)
      ? offeredCall('memory_list', {}, situation)
      : undefined;
  },
};

const logs =
  /^(?:log(?! in| out)|(?:add|write|put)(?: an entry)? (?:to|in|into) (?:my|the|today's|your) (?:daily )?log|daily log)(?:[:,]|\s+that)?\s+(.+)$/is;

const logsAfter = /^(?:add|write|put) (.+?) (?:to|in|into) (?:my|the|today's|your) (?:daily )?log$/is;

export const dailyLog: Intent = {
  tools: ['daily_log'],
  example: 'Log: fixed the printer',
  recognise(clause, situation) {
    const content = logs.exec(clause)?.[1] ?? logsAfter.exec(trimPhrase(clause))?.[1];
    return content === undefined
      ? undefined
      : offeredCall('daily_log', { content: saidOrMeant(content, situation) }, situation);
  },
};

/** Where a note goes when the sentence names no tab. */
const defaultTab = 'Notes';

interface Rule {
  pattern: RegExp;
  calls(groups: Record<string, string>, situation: Situation): Call[] | undefined;
}

const tabAfter = String.raw`(?:my |the |your )?(?:note |tab )?(?<tab>[\w' -]+?)(?: notes?| tab)?`;

const rules: Rule[] = [
  {
    pattern:
      /^(?:list|show|what are)(?: me)?(?: all)?(?: of)?(?: my| the| your)? (?:notes|note tabs|tabs|notebooks?)$/i,
    calls: (_, situation) => offeredCall('notes_list', {}, situation),
  },
  {
    pattern: /^(?:what(?:'s| is) in|read|open|show)(?: me)?(?: all)?(?: my| the| your)? notes$/i,
    calls: (_, situation) => offeredCall('notes_read', { tab: '' }, situation),
  },
  {
    pattern:
      /^(?:what(?:'s| is) in|read|open|show)(?: me)?(?: my| the| your)? (?:(?:note|tab) (?<named>[\w' -]+)|(?<tab>[\w' -]+?) (?:notes?|tab))$/i,
    calls: ({ named, tab }, situation) => offeredCall('notes_read', { tab: named ?? tab }, situation),
  },
  {
    pattern: new RegExp(
      `^(?:undo|revert|roll back)(?: (?:the )?last change (?:to|in|of))? ${tabAfter}(?: by (?<steps>\\d+)(?: steps?| versions?)?)?$`,
      'i',
    ),
    calls: ({ tab, steps }, situation) =>
      offeredCall('notes_revert', { tab, steps: Number(steps ?? 1) }, situation),
  },
  {
    pattern: /^replace (?:my |the )?(?<tab>[\w' -]+?) (?:notes?|tab) with:? (?<content>.+)$/is,
    calls: ({ tab, content = '' }, situation) =>
      offeredCall('notes_write', { tab, content, mode: 'replace' }, situation),
  },
  {
    pattern:
      /^(?:write|add|append|put|save) (?<content>.+?) (?:to|in|into|on) (?:my |the )?(?:(?:note|tab) (?<named>[\w' -]+)|(?<tab>[\w' -]+?) (?:notes?|tab))$/is,
    calls: ({ named, tab, content = '' }, situation) => write(named ?? tab, content, situation),
  },
  {
    pattern: /^(?:write|add|append|put|save) (?<content>.+?) (?:to|in|into) (?:my |the )?notes$/is,
    calls: ({ content = '' }, situation) => write(defaultTab, content, situation),
  },
  {
    pattern:
      /^(?:(?:make|take|write|add|save)(?: me)? a note|note down|note)(?:[:,]| that| to| of)? (?<content>.+)$/is,
    calls: ({ content = '' }, situation) => write(defaultTab, content, situation),
  },
];

export const notes: Intent = {
  tools: ['notes_list', 'notes_read', 'notes_write', 'notes_revert'],
  example: 'Add buy milk to my Shopping notes',
  recognise(clause, situation) {
    const sentence = trimPhrase(clause);
    for (const { pattern, calls } of rules) {
      const match = pattern.exec(sentence);
      const found = match === null ? undefined : calls({ ...match.groups }, situation);
      if (found !== undefined) return found;
    }
    return undefined;
  },
};

function write(tab: string | undefined, content: string, situation: Situation): Call[] | undefined {
  return offeredCall(
    'notes_write',
    { tab, content: saidOrMeant(content, situation), mode: 'append' },
    situation,
  );
}

/** "it" stands for what the step before found. */
function saidOrMeant(content: string, { previous }: Situation): string {
  const said = trimPhrase(content);
  return pointsBack.test(said) && previous !== '' ? previous : said;
}
