import { intents } from './intents/table.ts';
import type { DemoRequest } from './request.ts';
import { summarise } from './summarise.ts';
import { sentencesOf, trimPhrase } from './text.ts';

/** Said once in a conversation, so that nobody takes the demo for a real model. */
export const introduction = 'I am the offline demo model; set LLM_GATEWAY_URL to use a real one.';

const phrases: [RegExp, string][] = [
  [/^(?:hi|hello|hey|good (?:morning|afternoon|evening)|greetings)\b/i, 'Hello. What can I do for you?'],
  [/^(?:thanks|thank you|cheers|great|perfect|nice|ok|okay)\b/i, 'You are welcome.'],
  [/^(?:bye|goodbye|see you|good night)\b/i, 'Goodbye.'],
  [/\bhow are you\b|\bhow do you do\b/i, 'I am running fine. What can I do for you?'],
  [
    /\b(?:who|what) are you\b|\byour name\b|\bare you (?:an? )?(?:ai|bot|human|real)\b/i,
    'I follow fixed rules instead of thinking, but the tools I call are real.',
  ],
];

/** An answer to a message that asks for no tool. */
export function talk(request: DemoRequest): string {
  return plainAnswer(request) ?? `I found nothing in that I can act on. ${help(request)}`;
}

/** An answer to a message that is clear in itself; undefined for any other. */
export function plainAnswer(request: DemoRequest): string | undefined {
  const text = request.userText.trim();
  const reminder = /^Reminder: (.+)$/s.exec(text)?.[1];
  if (reminder !== undefined) return `Here is your reminder: ${trimPhrase(reminder)}.`;
  if (/\bwhat can you do\b|^help\b|\bwhat (?:tools|skills) do you have\b|\bhow can you help\b/i.test(text))
    return help(request);
  const phrase = phrases.find(([pattern]) => pattern.test(text))?.[1];
  if (phrase !== undefined) return phrase;
  return sentencesOf(text).length >= 4 ? `In short: ${summarise(text, { sentences: 2 })}` : undefined;
}

function help({ tools }: DemoRequest): string {
  const possible = intents.filter((intent) =>
    intent.tools.length === 0 ? tools.size > 0 : intent.tools.some((name) => tools.has(name)),
  );
  const lines = [
    ...possible.map(({ example }) => `- ${example}`),
    '- Summarise this in two sentences: <text>',
  ];
  return `You can say, for example:\n${lines.join('\n')}`;
}
