import { suggestions } from '@trunkline/std';
import type { Call, Intent, OfferedTool, Recognised, Situation } from '../request.ts';
import { callOf, choicesOf } from '../schema.ts';
import { toSecondPerson, trimPhrase } from '../text.ts';

const questionTools = ['ask_human', 'askClarification'];

export const askMe: Intent = {
  tools: questionTools,
  examples: [suggestions.askMe],
  recognise(clause, situation) {
    const [, lead = '', rest] =
      /^ask (?:me|the human|the user)\s+(?:(for|about|to)\s+)?(.+)$/i.exec(trimPhrase(clause)) ?? [];
    if (rest === undefined) return undefined;
    const wish = toSecondPerson(rest);
    return askHuman(lead === 'to' ? `Would you please ${wish}?` : `Please tell me ${wish}.`, situation);
  },
};

const vague: [RegExp, string][] = [
  [/^(?:book|reserve)\b/i, 'where, when and for how many'],
  [/^(?:order|buy|get me)\b/i, 'which one, how many and where to'],
  [/^(?:plan|arrange|organi[sz]e|set up|prepare)\b/i, 'when, with whom and within what budget'],
  [/^(?:send|write|draft)\b.*\b(?:email|e-mail|letter|message)\b/i, 'to whom and what it should say'],
];

const longestVague = 8;

/** Wishes that lack what is needed to act on them. */
export const clarify: Intent = {
  tools: questionTools,
  examples: [suggestions.clarify],
  recognise(clause, situation) {
    const wish = trimPhrase(clause);
    const missing = vague.find(([pattern]) => pattern.test(wish))?.[1];
    if (missing === undefined || wish.split(/\s+/).length > longestVague) return undefined;
    return askHuman(
      `To ${wish.charAt(0).toLowerCase()}${wish.slice(1)} I need to know more: ${missing}?`,
      situation,
    );
  },
};

/** "Ask me with a form for name, e-mail and date" becomes a form with three text fields. */
export const form: Intent = {
  tools: ['request_user_input'],
  examples: [suggestions.form],
  recognise(clause, { tools }) {
    const tool = tools.get('request_user_input');
    const wanted = /\bform\b.*?\b(?:for|with|asking for)\s+(.+)$/i.exec(trimPhrase(clause))?.[1];
    if (tool === undefined || wanted === undefined) return undefined;
    const fields = wanted
      .split(/\s*,\s*(?:and\s+)?|\s+and\s+/)
      .map((field) => trimPhrase(field.replace(/^(?:my|the|your|a|an)\s+/i, '')));
    const properties = Object.fromEntries(fields.map((field) => [field, { type: 'string' }]));
    return [
      callOf(tool, {
        title: 'A few details',
        steps: [{ schema: { type: 'object', properties, required: fields } }],
      }),
    ];
  },
};

/** "ask research to X", "delegate to research: X", "hand X to research", "research X". */
const orders = [
  /^(?<verb>ask|tell|have)\s+(?:the\s+)?(?<name>[\w.-]+)(?:\s+(?:agent|assistant|delegate))?\s+(?:to\s+|about\s+|for\s+)?(?<query>.+)$/is,
  /^(?<verb>delegate|hand(?: over)?|forward|pass)\s+(?:this\s+|it\s+)?to\s+(?:the\s+)?(?<name>[\w.-]+)(?:\s+agent)?[:,]?\s+(?:to\s+)?(?<query>.+)$/is,
  /^(?<verb>delegate|hand(?: over)?|forward|pass)\s+(?<query>.+?)\s+to\s+(?:the\s+)?(?<name>[\w.-]+)$/is,
  /^(?<verb>(?<name>research))\s+(?<query>.+)$/is,
];
const notAnAgent = /^(?:me|us|him|her|them|the|a|an|it|you|yourself|human|user)$/i;
/** Verbs that also stand for other things, so the name after them must be a known one. */
const loose = /^(?:tell|have|research)$/i;

interface Route {
  tool: string;
  target: string;
  query: string;
}

const routes: Route[] = [
  { tool: 'delegate_to', target: 'target', query: 'query' },
  { tool: 'peer_consult', target: 'name', query: 'message' },
  { tool: 'code_with', target: 'agent', query: 'task' },
];

interface Destination {
  tool: OfferedTool;
  route: Route;
  choices: string[];
}

export const delegate: Intent = {
  tools: routes.map(({ tool }) => tool),
  examples: [suggestions.research],
  recognise(clause, { tools }) {
    const match = orders.map((order) => order.exec(trimPhrase(clause))).find((found) => found !== null);
    const { verb = '', name = '', query = '' } = match?.groups ?? {};
    const open = destinations(tools);
    if (name === '' || notAnAgent.test(name) || open.length === 0) return undefined;
    return handOver(name, query, open, loose.test(verb));
  },
};

function destinations(tools: ReadonlyMap<string, OfferedTool>): Destination[] {
  return routes.flatMap((route) => {
    const tool = tools.get(route.tool);
    return tool === undefined ? [] : [{ tool, route, choices: choicesOf(tool, route.target) }];
  });
}

/** Calls the first destination that knows the name; one without a list takes any name. */
function handOver(name: string, query: string, open: Destination[], isLoose: boolean): Recognised {
  for (const { tool, route, choices } of open) {
    const target = matching(name, choices) ?? (choices.length === 0 && !isLoose ? name : undefined);
    if (target !== undefined) return [callOf(tool, { [route.target]: target, [route.query]: query })];
  }
  const known = open.flatMap(({ choices }) => choices).join(', ');
  return isLoose ? undefined : `I know no agent called "${name}". I can ask: ${known}.`;
}

/** The listed name that is meant: the same, else one that contains it or is contained. */
function matching(name: string, choices: string[]): string | undefined {
  const wanted = name.toLowerCase();
  return (
    choices.find((choice) => choice.toLowerCase() === wanted) ??
    choices.find((choice) => choice.toLowerCase().includes(wanted) || wanted.includes(choice.toLowerCase()))
  );
}

/** A question to the person, if the request offers a way to put one. */
export function askHuman(question: string, { tools }: Situation): Call[] | undefined {
  const tool = questionTools.flatMap((name) => tools.get(name) ?? [])[0];
  return tool === undefined ? undefined : [callOf(tool, { question })];
}
