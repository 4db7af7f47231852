import type { Part, Task } from '@trunkline/a2a';

/** What a task has to say as it stands: its answer, its question, or why it failed. */
export function taskText(task: Task): string {
  const status = task.statusMessage === undefined ? '' : plainText(task.statusMessage.parts);
  if (task.state !== 'completed') return status;
  return task.artifacts.map(({ parts }) => plainText(parts)).join('\n') || status;
}

function plainText(parts: readonly Part[]): string {
  return parts.flatMap((part) => (part.type === 'text' ? [part.text] : [])).join('\n');
}
