import { call } from '../http.ts';
import type { Entry, Standing } from '../ledger.ts';
import { type Ground, hasMark, type Load, oneByOne } from './load.ts';
import { messagesOf, unansweredStanding } from './messages.ts';

interface Fire {
  fireId: string;
  status: 'fired' | 'done' | 'failed' | 'skipped' | 'missed' | 'unknown';
  detail: string | null;
}

const answerTopic = 'message.outbound.cli';

/** One-shots of the switchboard, each due within seconds. */
export function oneShotLoad(ground: Ground): Load {
  const url = ground.urls.switchboard;
  return {
    name: 'one-shot schedules',
    pauseMs: 3000,
    offer: (mark) => addSchedule(url, mark, soon(ground)),
    standings: (entries) => oneByOne(entries, (entry) => oneShotStanding(url, entry)),
  };
}

/** Schedules for every minute, with the clock jumping under them. */
export function recurringLoad(ground: Ground): Load {
  const url = ground.urls.switchboard;
  return {
    name: 'recurring schedules',
    pauseMs: 4000,
    most: 6,
    offer: (mark) => addSchedule(url, mark, '* * * * *'),
    standings: (entries) => oneByOne(entries, (entry) => recurringStanding(url, entry)),
  };
}

/** Recurring schedules that are run by hand, beside their times. */
export function manualRunLoad(ground: Ground): Load {
  const url = ground.urls.switchboard;
  return {
    name: 'runs by hand',
    pauseMs: 4000,
    async offer(mark) {
      const scheduleId = await addSchedule(url, mark, '0 0 1 1 *').then((entry) => entry?.id);
      if (scheduleId === undefined) return undefined;
      const run = `${url}/api/schedules/${scheduleId}/run-now`;
      const { isGood, body } = await call<{ data: { fireId: string } }>(run, {});
      return isGood ? { id: scheduleId, mark: body.data.fireId } : undefined;
    },
    standings: (entries) => oneByOne(entries, (entry) => oneShotStanding(url, entry)),
  };
}

/** One-shots of the agent: each becomes one task. */
export function agentScheduleLoad(ground: Ground): Load {
  const url = ground.urls.agent;
  return {
    name: 'agent schedules',
    pauseMs: 4000,
    async offer(mark) {
      const job = { job_id: mark, when: soon(ground), prompt: `do ${mark}` };
      const { isGood } = await call(`${url}/api/scheduler/jobs`, job);
      return isGood ? { id: mark, mark } : undefined;
    },
    async standings(entries) {
      const tasks = await allTasks(url);
      const { body } = await call<{ jobs: { id: string }[] }>(`${url}/api/scheduler/jobs`);
      const waiting = new Set(body.jobs.map(({ id }) => id));
      return entries.map((entry) => ({ entry, standing: jobStanding(entry, tasks, waiting) }));
    },
  };
}

function soon({ now, random }: Ground): string {
  return new Date(now() + random.between(2000, 12_000)).toISOString();
}

async function addSchedule(url: string, mark: string, schedule: string) {
  const record = { id: mark, schedule, topic: `cron.${mark}`, payload: { content: mark } };
  const { isGood } = await call(`${url}/api/schedules`, record);
  return isGood ? { id: mark, mark } : undefined;
}

async function findSchedule(url: string, id: string) {
  const answer = await call<{ data?: { schedule: object | null; history: Fire[] } }>(
    `${url}/api/schedules/${id}?limit=200`,
  );
  return answer.isGood ? answer.body.data : undefined;
}

async function oneShotStanding(url: string, { id }: Entry): Promise<Standing> {
  const found = await findSchedule(url, id);
  const fire = found?.history[0];
  if (found === undefined) return { state: 'missing', times: 0, reason: 'the schedule is unknown' };
  if (fire === undefined) return { state: 'pending', times: 0, reason: 'it has not fired' };
  const standing = await fireStanding(url, fire);
  return { ...standing, times: standing.times + found.history.length - 1 };
}

async function recurringStanding(url: string, { id }: Entry): Promise<Standing> {
  const found = await findSchedule(url, id);
  if (!found?.schedule) return { state: 'missing', times: 0, reason: 'the schedule is gone' };
  let failed: Standing | undefined;
  for (const fire of found.history) {
    const standing = await fireStanding(url, fire);
    if (standing.state === 'pending' || standing.times > 1) return standing;
    if (standing.state === 'failed') failed = standing;
  }
  if (found.history.length === 0) return { state: 'waiting', times: 0 };
  return failed ?? { state: 'answered', times: 1 };
}

/** By what is on the bus; the history of the schedule may lack an outcome that a full disk kept it from noting. */
async function fireStanding(url: string, { fireId, status, detail }: Fire): Promise<Standing> {
  const times = (await messagesOf(url, fireId)).filter(({ topic }) => topic === answerTopic).length;
  if (status === 'failed' || status === 'missed' || status === 'skipped' || status === 'unknown')
    return { state: 'failed', times, reason: detail ?? status };
  return times > 0 ? { state: 'answered', times } : await unansweredStanding(url, fireId);
}

interface ListedTask {
  asked: string;
  state: string;
  text: string;
}

async function allTasks(url: string): Promise<ListedTask[]> {
  const tasks: ListedTask[] = [];
  for (let page: string | null = ''; page !== null; ) {
    const query: string = page === '' ? '' : `&page=${encodeURIComponent(page)}`;
    const { body } = await call<{ tasks: ListedTask[]; next_page: string | null }>(
      `${url}/api/tasks?limit=100${query}`,
    );
    tasks.push(...body.tasks);
    page = body.next_page;
  }
  return tasks;
}

/** A task that a kill cut short is failed, and its job fires again: only a second answer is one too many. */
function jobStanding({ id, mark }: Entry, tasks: readonly ListedTask[], waiting: Set<string>): Standing {
  const own = tasks.filter(({ asked }) => hasMark(asked, mark));
  const times = own.filter(({ state }) => state === 'completed').length;
  const [task] = own;
  if (times > 0) return { state: 'answered', times };
  if (waiting.has(id)) return { state: 'pending', times, reason: 'it has not fired, or fires again' };
  if (task === undefined) return { state: 'missing', times, reason: 'it fired without a task' };
  if (task.state === 'working') return { state: 'pending', times, reason: 'its task still works' };
  return { state: 'failed', times, reason: task.text };
}
