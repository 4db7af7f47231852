import { callOf } from '../fit.ts';
import { toSecondPerson, trimPhrase } from '../text.ts';
import type { Call, Intent, Situation } from '../types.ts';

const questionTools = ['ask_human', 'askClarification'];

/** A question to the person, if the request offers a way to put one. */
export function askHuman(question: string, { tools }: Situation): Call[] | undefined {
  const tool = questionTools.flatMap((name) => tools.get(name) ?? [])[0];
  return tool === undefined ? undefined : [callOf(tool, { question })];
}

export const askMe: Intent = {
  tools: questionTools,
  example: 'Ask me which colour I like',
  recognise(clause, situation) {
    const [, lead = '', rest] =
      /^ask (?:me|the human|the user)\s+(?:(for|about|to)\s+)?(.+)$/i.exec(trimPhrase(clause)) ?? [];
    if (rest === undefined) return undefined;
    const wish = toSecondPerson(rest);
    return askHuman(lead === 'to' ? `Would you please ${wish}?` : `Please tell me: ${wish}?`, situation);
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
  example: 'Book a table (I will ask for the details)',
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
  example: 'Show me a form for name and city',
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
