import { suggestions } from '@trunkline/std';
import type { Intent, Situation } from '../request.ts';
import { intentOf, offeredCall } from '../schema.ts';
import { capitalise, contentWords, trimPhrase } from '../text.ts';

const pointsBack = /^(?:it|this|that|them|the (?:result|answer)s?)$/i;

export const remember = intentOf(
  [suggestions.remember],
  [
    [
      /^(?:remember|memori[sz]e|keep in mind|don't forget|do not forget|make a mental note|store in memory|save to memory)(?:[:,]|\s+this[:,]?)?\s+(?:that\s+)?(?<content>.+)$/is,
      'memory_ingest',
      contentOf,
    ],
  ],
);

const recalls =
  /^(?:do you (?:remember|know|recall)|what do you (?:remember|know|recall)(?: about)?|recall|what did i (?:tell|say)(?: to you| you)?(?: about)?|(?:what|where|when|who|which|how)(?:'s|\s+\w+)? my|(?:what|where|when|who|which) (?:do|did|does|am|is|are|was|were|have) i\b|search (?:your |my |the )?memory for|(?:what|when|where|who|which)(?:'s| is| are) (?=(?:the |an? )?[\w ]*\b(?:password|passcode|pin|code|birthday|phone number|number plate)\b|\w+'s \w+(?: \w+)?$))\b\s*(.*)$/i;

const wantsAll = /^(?:me|everything|anything)?$/i;

export const recall: Intent = {
  tools: ['memory_recall'],
  examples: [suggestions.recall],
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

export const listMemories = intentOf(
  [suggestions.memories],
  [
    [/\bmemor(?:y|ies)\b.*\b(?:stat|count)|how many memor/i, 'memory_stats'],
    [
      /^(?:list|show)(?: me)?(?: all)?(?: of)?(?: your| my| the)? (?:recent )?memor|^(?:list|show|tell)(?: me)? (?:everything|all|what)(?: that)? you (?:remember|know)$/i,
      'memory_list',
    ],
  ],
);

export const dailyLog = intentOf(
  [suggestions.log],
  [
    [
      /^(?:log(?! in| out)|(?:add|write|put)(?: an entry)? (?:to|in|into) (?:my|the|today's|your) (?:daily )?log|daily log)(?:[:,]|\s+that)?\s+(?<content>.+)$/is,
      'daily_log',
      contentOf,
    ],
    [
      /^(?:add|write|put) (?<content>.+?) (?:to|in|into) (?:my|the|today's|your) (?:daily )?log$/is,
      'daily_log',
      contentOf,
    ],
  ],
);

/** Where a note goes when the sentence names no tab. */
const defaultTab = 'Notes';

const tabAfter = String.raw`(?:my |the |your )?(?:note |tab )?(?<tab>[\w' -]+?)(?: notes?| tab)?`;

export const notes = intentOf(
  [suggestions.note, suggestions.readNote],
  [
    [
      /^(?:list|show|what are)(?: me)?(?: all)?(?: of)?(?: my| the| your)? (?:notes|note tabs|tabs|notebooks?)$/i,
      'notes_list',
    ],
    [
      /^(?:what(?:'s| is) in|read|open|show)(?: me)?(?: all)?(?: my| the| your)? notes$/i,
      'notes_read',
      () => ({ tab: '' }),
    ],
    [
      /^(?:what(?:'s| is) (?:in|on)|read|open|show)(?: me)?(?: my| the| your)? (?!(?:tasks?|to-?do) list)(?:(?:note|tab|list) (?<named>[\w' -]+)|(?<tab>[\w' -]+?) (?:notes?|tab|list))$/i,
      'notes_read',
      ({ named, tab }) => ({ tab: tabName(named ?? tab) }),
    ],
    [
      new RegExp(
        `^(?:undo|revert|roll back)(?: (?:the )?last change (?:to|in|of))? ${tabAfter}(?: by (?<steps>\\d+)(?: steps?| versions?)?)?$`,
        'i',
      ),
      'notes_revert',
      ({ tab, steps }) => ({ tab, steps: Number(steps ?? 1) }),
    ],
    [
      /^replace (?:my |the )?(?<tab>[\w' -]+?) (?:notes?|tab) with:? (?<content>.+)$/is,
      'notes_write',
      ({ tab, content }) => ({ tab, content, mode: 'replace' }),
    ],
    [
      /^(?:write|add|append|put|save) (?<content>.+?) (?:to|in|into|on|onto) (?:my |the |our )?(?!(?:tasks?|to-?do) list)(?:(?:note|tab|list) (?<named>[\w' -]+)|(?<tab>[\w' -]+?) (?:notes?|tab|list))$/is,
      'notes_write',
      noteOf,
    ],
    [
      /^(?:write|add|append|put|save) (?<content>.+?) (?:to|in|into) (?:my |the )?notes$/is,
      'notes_write',
      noteOf,
    ],
    [
      /^(?:(?:make|take|write|add|save)(?: me)? a note|(?:note|write|jot) down|note)(?:[:,]| that| to| of)? (?<content>.+)$/is,
      'notes_write',
      noteOf,
    ],
    [
      /^(?:[Ww]rite|[Aa]dd|[Aa]ppend|[Pp]ut|[Ss]ave) (?<content>.+?) (?:to|in|into|on|onto) (?:my |the )?(?<tab>[A-Z][\w'-]*)$/s,
      'notes_write',
      noteOf,
    ],
  ],
);

type Groups = Record<string, string | undefined>;

function noteOf(groups: Groups, situation: Situation) {
  const tab = tabName(groups.named ?? groups.tab ?? defaultTab);
  return { tab, ...contentOf(groups, situation), mode: 'append', create: true };
}

/** "my shopping list" and "MY SHOPPING LIST" are the tab Shopping. */
function tabName(said = ''): string {
  return said === said.toLowerCase() || said === said.toUpperCase() ? capitalise(said.toLowerCase()) : said;
}

/** "it" stands for what the step before found. */
function contentOf({ content = '' }: Groups, { previous }: Situation): { content: string } {
  const said = trimPhrase(content);
  return { content: pointsBack.test(said) && previous !== '' ? previous : said };
}
