import { markOfDropped } from '@trunkline/loop';
import type { ModelMessage, ModelMessages } from './persona.ts';

/**
 * At most that many of the newest messages, starting with the user's, so that no tool result lacks its call. Answers
 * may be drawn from what is left out, so the first of them takes over its marks.
 */
export function newestMessages(messages: ModelMessages, most: number): ModelMessage[] {
  if (messages.length <= most) return [...messages];
  const newest = messages.slice(-most);
  const start = newest.findIndex(({ role }) => role === 'user');
  const kept = newest.slice(Math.max(start, 0));
  const left = messages.slice(0, -kept.length);
  const answer = kept.findIndex(({ role }) => role === 'assistant');
  const at = Math.max(answer, 0);
  return kept.map((message, index): ModelMessage => {
    if (index !== at) return message;
    const { providerOptions } = markOfDropped([...left, ...kept.slice(0, at + 1)]);
    return { ...message, providerOptions: { ...message.providerOptions, ...providerOptions } };
  });
}
