import type { Message, Part } from './model.ts';

/** The text of all text parts, a line break between them. */
export function textOf(parts: readonly Part[]): string {
  const texts: string[] = [];
  for (const part of parts) if (part.type === 'text') texts.push(part.text);
  return texts.join('\n');
}

export function hasText(parts: readonly Part[]): boolean {
  return parts.some((part) => part.type === 'text');
}

export function textPart(text: string): Part {
  return { type: 'text', text };
}

/** A message of the agent within a task. */
export function agentMessage(task: { id: string; contextId: string }, parts: readonly Part[]): Message {
  return {
    messageId: crypto.randomUUID(),
    role: 'agent',
    parts,
    taskId: task.id,
    contextId: task.contextId,
  };
}
