import type { EndEvent, ErrorEvent } from '@trunkline/loop';
import type { Messages, Session } from './session-store.ts';

/** Other turns of the session ended while this one waited: only its question and its answer are added to theirs. */
export function appended(
  { messages }: Session,
  { text }: EndEvent | ErrorEvent,
  request: { text: string },
): Messages {
  const answer = text === '' ? [] : [{ role: 'assistant' as const, content: text }];
  return [...messages, { role: 'user', content: request.text }, ...answer];
}

/** The record of a session after a turn. */
export function recordOf(sessionId: string, messages: Messages, event: EndEvent | ErrorEvent) {
  return {
    session_id: sessionId,
    trace_id: null,
    messages: plainMessages(messages),
    tool_calls: messages.filter(({ role }) => role === 'tool').length,
    final_output: event.type === 'error' && event.text === '' ? event.message : event.text,
  };
}

/** What people said to each other, without the traffic with tools. */
export function plainMessages(messages: Messages): { role: string; content: string }[] {
  return messages
    .filter(({ role }) => role === 'user' || role === 'assistant')
    .map(({ role, content }) => ({ role, content: plainText(content) }))
    .filter(({ content }) => content !== '');
}

function plainText(content: Messages[number]['content']): string {
  if (typeof content === 'string') return content;
  return content.flatMap((part) => (part.type === 'text' ? [part.text] : [])).join('\n');
}
