import type { ServiceName } from '../fleet.ts';
import { call, rpc, textMessage, type WireTask } from '../http.ts';
import type { Entry, Standing } from '../ledger.ts';
import { countMarks, type Ground, type Load, oneByOne } from './load.ts';

/** Tasks over A2A that nobody waits for. */
export function taskLoad(ground: Ground, service: ServiceName): Load {
  const url = ground.urls[service];
  return {
    name: `${service} tasks`,
    pauseMs: 1500,
    offer: (mark) => sendTask(url, mark, mark),
    standings: (entries) => oneByOne(entries, (entry) => taskStanding(url, entry)),
  };
}

/** Tasks that ask a person; about half of them get their answer, the others go on waiting for it. */
export function questionLoad(ground: Ground): Load {
  const url = ground.urls.agent;
  const unanswered: string[] = [];
  return {
    name: 'agent questions',
    pauseMs: 4000,
    async offer(mark) {
      if (ground.random.chance(0.5)) await answerOne(url, unanswered);
      const entry = await sendTask(url, `ask a person ${mark}`, mark);
      if (entry) unanswered.push(entry.id);
      return entry;
    },
    standings: (entries) => oneByOne(entries, (entry) => taskStanding(url, entry)),
  };
}

async function sendTask(url: string, text: string, mark: string) {
  const message = textMessage(text);
  const task = await rpc(url, 'message/send', { message, configuration: { blocking: false } });
  return task && { id: task.id, mark };
}

/** Answers the oldest question; a task that ended without one is left alone. */
async function answerOne(url: string, unanswered: string[]): Promise<void> {
  const [id] = unanswered;
  if (id === undefined) return;
  const { body } = await call<{ task?: { state: string } }>(`${url}/api/tasks/${id}`);
  if (body.task?.state === 'working') return;
  if (body.task?.state === 'input-required') await call(`${url}/api/tasks/${id}/answer`, { text: 'yes' });
  unanswered.shift();
}

export async function taskStanding(url: string, { id, mark }: Pick<Entry, 'id' | 'mark'>): Promise<Standing> {
  const task = await rpc(url, 'tasks/get', { id });
  if (task === undefined) return { state: 'missing', times: 0, reason: 'the task is unknown' };
  const { state } = task.status;
  const times = countMarks(answerOf(task), mark);
  if (state === 'completed')
    return times > 0
      ? { state: 'answered', times }
      : { state: 'missing', times, reason: `its answer is not one: ${answerOf(task)}` };
  if (state === 'input-required') return { state: 'waiting', times: 0 };
  return state === 'working' || state === 'submitted'
    ? { state: 'pending', times: 0, reason: `it is still ${state}` }
    : { state: 'failed', times: 0, reason: textOf(task.status.message?.parts) };
}

export function answerOf(task: WireTask): string {
  return task.artifacts?.map(({ parts }) => textOf(parts)).join('') ?? '';
}

function textOf(parts: { text?: string }[] = []): string {
  return parts.map(({ text = '' }) => text).join('');
}
