import { type Task, textOf } from '@trunkline/a2a';
import { joinOrigins, type Origin, ownerKey, type Principal } from '@trunkline/identity';
import { type Content, originsIn } from '@trunkline/loop';
import { plainMessages, type SessionStore } from '../turns/session-store.ts';

/** What the tasks that a message refers to asked for and answered, as the model reads it. Their marks go along. */
export function contentsOfTasks(
  tasks: readonly Task[],
  sessions: Pick<SessionStore, 'load'>,
  caller: Principal,
): readonly Content[] {
  return tasks.map((task) => {
    const asked = textOf(task.history.find(({ role }) => role === 'user')?.parts ?? []);
    const answer = answerOf(task);
    const files = task.artifacts.flatMap(({ parts }) =>
      parts.flatMap((part) => (part.type === 'file' ? [part.name ?? part.uri ?? 'file'] : [])),
    );
    return {
      type: 'data',
      name: 'of an earlier task that the message refers to',
      data: { task: task.id, state: task.state, asked, answer, ...(files.length > 0 && { files }) },
      origins: originsOf(task, answer, sessions, caller),
    };
  });
}

function answerOf({ artifacts, statusMessage }: Task): string {
  const texts = artifacts.map(({ parts }) => textOf(parts)).filter((text) => text !== '');
  return texts.length > 0 ? texts.join('\n\n') : textOf(statusMessage?.parts ?? []);
}

/**
 * Those of its conversation. Where that no longer holds the answer, nobody knows them, and the task itself is named; so is
 * one of somebody else, whose own words have no marks there.
 */
function originsOf(
  task: Task,
  answer: string,
  sessions: Pick<SessionStore, 'load'>,
  caller: Principal,
): readonly Origin[] {
  const { messages } = sessions.load(task.contextId);
  const isOwn = task.owner === ownerKey(caller);
  const isHeld = plainMessages(messages).some(
    ({ role, content }) => role === 'assistant' && answer !== '' && content.includes(answer),
  );
  return joinOrigins(originsIn(messages), isOwn && isHeld ? [] : [{ kind: 'task', source: task.id }]);
}
