import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { waitFor } from '@trunkline/testing';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { type Locked, startLocked } from './security.suite.ts';

/** The switchboard is open, the agent behind it is not. */
let fleet: Locked;
beforeAll(async () => {
  fleet = await startLocked({ env: { SWITCHBOARD_API_KEY: '' } });
});
afterAll(() => fleet.stop());

const asOperator = () => ({
  authorization: `Bearer ${readFileSync(join(fleet.home, 'operator-key'), 'utf8').trim()}`,
});
const board = async (path: string, headers: Record<string, string>, body?: object) => {
  const init = body === undefined ? {} : { method: 'POST', body: JSON.stringify(body) };
  const all = { 'content-type': 'application/json', ...headers };
  return (await fetch(`${fleet.target('switchboard').url}${path}`, { ...init, headers: all })).json();
};

interface Entry {
  message: { topic: string; payload: { content: string; taskState: string } };
}

async function ask(headers: Record<string, string>) {
  const skill = await waitFor(async () => {
    const { data } = await board('/api/agents', headers);
    return data.find(({ name }: { name: string }) => name === 'agent')?.skills[0]?.name as string | undefined;
  });
  const reply = { topic: 'message.outbound.cli' };
  const payload = { skillHint: skill, agent: 'agent', content: 'what is 12*7+3' };
  const { correlationId } = await board('/publish', headers, {
    topic: 'agent.skill.request',
    payload,
    reply,
  });
  const path = `/api/bus/history?correlationId=${correlationId}&topic=${reply.topic}`;
  const answer = await waitFor(
    async () => ((await board(path, headers)).data.messages as Entry[]).at(0)?.message.payload,
  );
  return answer;
}

it('lends a stranger none of its rights, and says so', async () => {
  const answer = await ask({});
  expect(answer.taskState).toBe('rejected');
  expect(answer.content).toContain('agent answers only callers it knows');
});

it('asks on behalf of the operator', async () => {
  expect((await ask(asOperator())).content).toContain('87');
});

it("lends them no rights by a schedule's way either", async () => {
  const payload = { content: 'what is 6*7', channel: 'a2a', agent_name: 'trunkline-agent' };
  const job = { id: 'sly', schedule: '0 0 1 1 *', topic: 'cron.agent.sly', payload };
  await board('/api/schedules', {}, job);
  await board('/api/schedules/sly/run-now', {}, {});
  const run = await waitFor(async () => {
    const { history } = (await board('/api/schedules/sly', {})).data;
    return history.find(({ status }: { status: string }) => status === 'failed');
  });
  expect(run.detail).toContain('answers only callers it knows');
  const tasks = await fetch(`${fleet.target('agent').url}/tasks`, {
    headers: { ...asOperator(), 'a2a-version': '1.0' },
  });
  expect(await tasks.text()).not.toContain('6*7');
});
