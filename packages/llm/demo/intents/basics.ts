import { suggestions } from '@trunkline/std';
import type { Call, Intent, Situation } from '../request.ts';
import { callOf } from '../schema.ts';
import { trimPhrase, withoutEnd } from '../text.ts';
import { zoneOf } from '../when.ts';

const lead =
  /^(?:what(?:'s| is| are)|how much (?:is|are)|calculate|compute|work out|evaluate|solve|tell me)\s+/i;

/** Spoken arithmetic and the signs for it, applied in order. */
const spoken: [RegExp, string][] = [
  [/(\d),(?=\d{3}\b)/g, '$1'],
  [/([\d.]+)\s*(?:%|percent)\s+of\s+/gi, '$1 / 100 * '],
  [/\b(?:the )?square root of ([\d.]+)/gi, '$1 ** 0.5'],
  [/\bhalf of\b/gi, '0.5 *'],
  [/\btwice\b/gi, '2 *'],
  [/\bsquared\b/gi, '** 2'],
  [/\bcubed\b/gi, '** 3'],
  [/\b(?:to the power of|raised to)\b|\^/gi, '**'],
  [/\bplus\b/gi, '+'],
  [/\bminus\b/gi, '-'],
  [/\b(?:times|multiplied by)\b|×|(?<=[\d)]\s*)x(?=\s*[\d(])/gi, '*'],
  [/\b(?:divided by|over)\b|÷/gi, '/'],
  [/\b(?:mod|modulo)\b/gi, '%'],
  [/[−–]/g, '-'],
];

const asksTime =
  /\b(?:what(?:'s| is)? (?:the )?(?:current |local |exact )?(?:time|date)\b|what (?:time|day|date) (?:is it|it is)|what day is (?:it )?today|current time|today's date|time (?:is it |now )?in\b|tell me the time|the time in\b)/i;
const place = /\b(?:in|at|for)\s+(.+?)(?:\s+(?:right now|now|today|at the moment))?$/i;

export const tellTime: Intent = {
  tools: ['current_time'],
  examples: [suggestions.time],
  recognise(clause, { tools, zone = 'UTC' }) {
    const tool = tools.get('current_time');
    if (tool === undefined || !asksTime.test(clause)) return undefined;
    const places = place.exec(trimPhrase(clause))?.[1]?.split(/\s*,\s*(?:and\s+)?|\s+and\s+(?:in\s+)?/) ?? [
      zone,
    ];
    return places.filter(Boolean).map((name) => callOf(tool, { timezone: zoneOf(name) }));
  },
};

export const calculate: Intent = {
  tools: ['calculator'],
  examples: [suggestions.sum],
  recognise(clause, { tools }) {
    const tool = tools.get('calculator');
    const expression = expressionOf(clause);
    return tool === undefined || expression === undefined ? undefined : [callOf(tool, { expression })];
  },
};

const address = /https?:\/\/[^\s<>"')\]]+/g;
const asksPage =
  /\b(?:fetch|open|read|get|load|visit|summari[sz]e|check|look at|what does|what's on|what is on|show)\b/i;

export const fetchPage: Intent = {
  tools: ['fetch_url'],
  examples: [],
  recognise(clause, { tools }) {
    const tool = tools.get('fetch_url');
    const urls = (clause.match(address) ?? []).map((url) => withoutEnd(url, /[.,;:!?]/));
    if (tool === undefined || urls.length === 0) return undefined;
    const bare = clause.replace(address, '').trim() === '';
    return bare || asksPage.test(clause) ? urls.map((url) => callOf(tool, { url })) : undefined;
  },
};

const commandLead =
  /^(?:run|execute|start)\s+(?:(?:the|this|a)\s+)?(?:shell\s+|terminal\s+)?command[:,]?\s+(?<command>\S.*)$/is;

/** The command as it was written: its dashes, signs and capitals count. */
export const runCommand: Intent = {
  tools: ['run_command'],
  examples: [],
  recognise(clause, { tools }) {
    const tool = tools.get('run_command');
    const command = commandLead.exec(clause.trim())?.groups?.command?.trim();
    if (tool === undefined || command === undefined) return undefined;
    const quoted = /^([`"'])([^`"']+)\1[.!]?$/.exec(command)?.[2];
    return [callOf(tool, { command: quoted ?? command.replace(/(?<=\w)[.!]$/, '') })];
  },
};

const searchLead =
  /^(?:(?:do a |run a )?(?:web |internet )?search(?: the web| the internet| the news| online| the encyclopedia| wikipedia)?(?: for| about)?|look (?:up|for)|google|find(?: out)?(?: me)?(?: information| something| news| articles)?(?: about| on)?|(?:what(?:'s| is) )?(?:the )?(?:latest |most important )?news (?:about|on))\s+(.+)$/i;
/** What is to become of the results is not what is searched for. */
const searchTail =
  /,? (?:with sources|and (?:write|make|give|send)(?: me)? (?:a |the )?(?:digest|summary|overview)(?: of it)?)$/i;
const question =
  /^(?:who|what|when|where|why|how|which|is|are|was|were|does|did|tell me about|explain|define|describe)\b\s*(.+)$/i;
const telling = /^(?:tell me about|explain|define|describe)\s+/i;
const addressesTheModel = /\b(?:you|your|yourself|i|me|my|we|us|our)\b/i;

export const search: Intent = {
  tools: ['web_search', 'searchWeb', 'searchEncyclopedia'],
  examples: [suggestions.search],
  recognise(clause, situation) {
    const wanted = searchLead.exec(clause)?.[1];
    return wanted === undefined
      ? undefined
      : searchCalls(trimPhrase(wanted).replace(searchTail, ''), clause, situation);
  },
};

const factWords =
  'capital|populations?|inhabitants|area|size|languages?|currenc(?:y|ies)|religions?|president|prime minister|head of state|government|gdp|economy|life expectancy|borders?|neighbou?rs|climate|flag|anthem|independence|median age|literacy|unemployment|inflation|exports?|imports?|highest (?:point|mountain)';
/** Questions about countries and words, which reference works on this machine answer. */
const referenceQuestions = [
  new RegExp(String.raw`\b(?:${factWords})\b.*\b(?:of|in|for|between)\b\s+\S`, 'i'),
  new RegExp(String.raw`^(?:which|what)\b.*\b(?:${factWords})\b`, 'i'),
  /^how (?:many people live|big|large|populous)\b/i,
  /\b(?:bigger|larger|more people|more populous|richer)\b.*\bor\b/i,
  /^(?:define|definition of|meaning of|synonyms? (?:of|for)|(?:an)?other words? for|what (?:does|do) .+ mean\b|what .+ means$|what(?:'s| is) (?:the (?:meaning|definition) of|another word for))/i,
  /^(?:compare|tell me about|where (?:is|are)|who (?:is|was)|what(?:'s| is| are) an?)\s+\S/i,
];

export const lookUp: Intent = {
  tools: ['look_up'],
  examples: [suggestions.capital, suggestions.word, suggestions.compare],
  recognise(clause, { tools }) {
    const tool = tools.get('look_up');
    const asked = trimPhrase(clause).replace(/^(?:tell me|show me|find out|look up)\s+(?!about\b)/i, '');
    const query = asked.replace(/^tell me about\s+/i, '');
    if (tool === undefined || addressesTheModel.test(query)) return undefined;
    return referenceQuestions.some((pattern) => pattern.test(asked)) ? [callOf(tool, { query })] : undefined;
  },
};

/** Says whether a look-up gave nothing, so that the web is asked next. */
export function foundNothingOffline(result: string): boolean {
  return /^(?:Nothing was found offline|Error:)/.test(result);
}

/** A plain question about the world goes to the search tools when nothing else understood it. */
export const lookUpQuestion: Intent = {
  tools: search.tools,
  examples: [],
  recognise(clause, situation) {
    const about = question.exec(clause)?.[1];
    if (about === undefined || addressesTheModel.test(about)) return undefined;
    return searchCalls(trimPhrase(clause.replace(telling, '')), clause, situation);
  },
};

function searchCalls(query: string, clause: string, { tools }: Situation): Call[] | undefined {
  const web = tools.get('web_search') ?? tools.get('searchWeb');
  const encyclopedia = tools.get('searchEncyclopedia');
  const isLookUp = /encyclop|wikipedia|^(?:who|what|define|explain|tell me about)\b/i.test(clause);
  const chosen =
    isLookUp && encyclopedia
      ? [encyclopedia, ...(/encyclop|wikipedia/i.test(clause) || !web ? [] : [web])]
      : [web ?? encyclopedia];
  const categories = /\bnews\b/i.test(clause) ? 'news' : undefined;
  const calls = chosen.flatMap((tool) => (tool === undefined ? [] : [callOf(tool, { query, categories })]));
  return calls.length > 0 ? calls : undefined;
}

/** The arithmetic expression that a clause asks for, or nothing when the clause is anything else. */
function expressionOf(clause: string): string | undefined {
  const body = withoutEnd(clause.replace(lead, ''), /[\s?=.!]/).replace(/\s+for me$/i, '');
  const expression = spoken.reduce((text, [pattern, sign]) => text.replace(pattern, sign), body).trim();
  const isArithmetic = /^[\d\s.+\-*/%()]+$/.test(expression);
  const hasOperation = /[\d)]\s*(?:[+\-/%]|\*\*?|\/\/)\s*[-+(]*\d/.test(expression);
  return isArithmetic && hasOperation ? expression.replace(/\s+/g, ' ') : undefined;
}
