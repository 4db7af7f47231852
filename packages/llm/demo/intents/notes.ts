import { offeredCall } from '../fit.ts';
import { trimPhrase } from '../text.ts';
import type { Call, Intent, Situation } from '../types.ts';
import { saidOrMeant } from './memory.ts';

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
