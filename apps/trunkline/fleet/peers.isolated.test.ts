import { readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { encodePrincipal, principalHeader } from '@trunkline/identity';
import { type Child, startChild, temporaryHome, waitFor } from '@trunkline/testing';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';

const launcher = join(import.meta.dirname, '../../../bin/trunkline.js');
const home = temporaryHome();
/** Every service asks strangers for a key; peers open it for the principals on whose behalf they call. */
const keys = {
  A2A_AUTH_TOKEN: 'token-of-the-agent',
  RESEARCH_AUTH_TOKEN: 'token-of-research',
  SWITCHBOARD_API_KEY: 'key-of-the-board',
};
let child: Child;
const urls: Record<string, string> = {};

beforeAll(async () => {
  const ports = { VOICE_PORT: '0', AGENT_PORT: '0', RESEARCH_PORT: '0', SWITCHBOARD_PORT: '0' };
  const environment = {
    ...home.environment,
    ...ports,
    ...keys,
    TRUNKLINE_OPEN: '0',
    SCHEDULER_BACKEND: 'switchboard',
    LLM_GATEWAY_URL: '',
  };
  child = startChild(launcher, { arguments: ['up'], environment });
  await child.waitForLine('Ctrl-C stops everything', 180_000);
  for (const [, name = '', url = ''] of child.output().matchAll(/^ {2}(\w+) +(http:\S+)/gm)) urls[name] = url;
});
afterAll(async () => {
  await child.kill('SIGTERM');
  home.remove();
});

const board = async (path: string, body?: unknown) => {
  const headers = { 'x-api-key': keys.SWITCHBOARD_API_KEY, 'content-type': 'application/json' };
  const init = body === undefined ? { headers } : { method: 'POST', headers, body: JSON.stringify(body) };
  return (await fetch(`${urls.switchboard}${path}`, init)).json();
};

describe('four services as peers', () => {
  it('make one secret on the first run, which nobody else may read and no log shows', async () => {
    const path = join(home.environment.TRUNKLINE_HOME ?? '', 'family-secret');
    const secret = readFileSync(path, 'utf8').trim();
    expect(secret).toMatch(/^[\w-]{43}$/);
    expect(statSync(path).mode & 0o777).toBe(0o600);
    expect(child.output()).not.toContain(secret);
    for (const [name, path] of [
      ['research', '/api/research'],
      ['switchboard', '/api/flows'],
    ] as const) {
      const ask = (token: string) =>
        fetch(`${urls[name]}${path}`, { headers: { authorization: `Bearer ${token}` } });
      // A service that names nobody asks for nobody: the secret alone opens nothing.
      expect([(await ask('wrong')).status, (await ask(secret)).status]).toEqual([401, 401]);
    }
  });

  it('have no rights of their own on the switchboard but for the schedules of the agent', async () => {
    const secret = readFileSync(join(home.environment.TRUNKLINE_HOME ?? '', 'family-secret'), 'utf8').trim();
    const principal = { kind: 'service', id: 'agent', via: ['agent'] } as const;
    const headers = {
      authorization: `Bearer ${secret}`,
      [principalHeader]: encodePrincipal(principal),
      'content-type': 'application/json',
    };
    const publish = async (topic: string, payload: object) => {
      const body = JSON.stringify({ topic, payload });
      return (await fetch(`${urls.switchboard}/publish`, { method: 'POST', headers, body })).status;
    };
    const job = { action: 'add', schedule: '0 0 1 1 *', payload: { content: 'x' } };
    const own = { ...job, id: 'trunkline-agent-x', topic: 'cron.trunkline-agent.x' };
    expect(await publish('command.schedule', own)).toBe(200);
    expect(await publish('command.schedule', { ...own, id: 'other' })).toBe(403);
    expect(await publish('command.schedule', { ...own, topic: 'cron.other.x' })).toBe(403);
    expect(await publish('command.schedule', { ...own, topic: 'command.agent.upsert' })).toBe(403);
    expect(await publish('command.agent.upsert', { name: 'x', file: 'x.yaml', yaml: 'name: x' })).toBe(403);
    expect(await publish('message.inbound.cli', { content: 'x' })).toBe(403);
    expect((await fetch(`${urls.switchboard}/api/flows`, { headers })).status).toBe(403);
  });

  it('know each other: the switchboard sees the cards of the three', async () => {
    const agents = await waitFor(async () => {
      const { data } = await board('/api/agents');
      const names = data
        .filter((agent: { skills: unknown[] }) => agent.skills.length > 0)
        .map(({ name }: { name: string }) => name);
      return ['agent', 'research', 'voice'].every((name) => names.includes(name)) && names;
    });
    expect(agents).toEqual(expect.arrayContaining(['agent', 'research', 'voice']));
    const headers = { authorization: `Bearer ${keys.A2A_AUTH_TOKEN}` };
    const { delegates } = await (await fetch(`${urls.agent}/api/delegates`, { headers })).json();
    expect(delegates.map(({ name }: { name: string }) => name)).toEqual(['research', 'voice']);
    const voice = await (await fetch(`${urls.voice}/healthz`)).json();
    expect(voice.delegates).toEqual([
      { name: 'agent', type: 'a2a' },
      { name: 'research', type: 'a2a' },
    ]);
  });

  it('bring a message through the switchboard to the agent and its answer back', async () => {
    const correlationId = 'peers-1';
    const { data } = await board('/api/agents');
    const [skill] = data.find(({ name }: { name: string }) => name === 'agent').skills;
    const reply = { topic: 'message.outbound.cli' };
    const payload = { skillHint: skill.name ?? skill, agent: 'agent', content: 'what is 12*7+3' };
    await board('/publish', { topic: 'agent.skill.request', payload, correlationId, reply });
    const answer = await waitFor(async () => {
      const history = await board(`/api/bus/history?correlationId=${correlationId}`);
      return history.data.messages.find(
        ({ message }: { message: { topic: string } }) => message.topic === reply.topic,
      );
    });
    expect(answer.message.payload.content).toContain('87');
  });

  it('keep the schedules of the agent on the switchboard, which brings them back when they fire', async () => {
    const headers = { authorization: `Bearer ${keys.A2A_AUTH_TOKEN}`, 'content-type': 'application/json' };
    const soon = () => new Date(Date.now() + 10_000).toISOString();
    const body = JSON.stringify({ job_id: 'tea', when: soon(), prompt: 'what is 6*7' });
    const added = await fetch(`${urls.agent}/api/scheduler/jobs`, { method: 'POST', headers, body });
    expect(added.status).toBeLessThan(300);
    // One of a person, which comes back as theirs.
    const secret = readFileSync(join(home.environment.TRUNKLINE_HOME ?? '', 'family-secret'), 'utf8').trim();
    const ofAva = {
      authorization: `Bearer ${secret}`,
      [principalHeader]: encodePrincipal({ kind: 'person', id: 'voice:ava', via: ['voice'] }),
      ...{ 'content-type': 'application/json', 'a2a-version': '1.0' },
    };
    const hers = JSON.stringify({ job_id: 'hers', when: soon(), prompt: 'what is 7*8' });
    const addedByAva = await fetch(`${urls.agent}/api/scheduler/jobs`, {
      ...{ method: 'POST', headers: ofAva, body: hers },
    });
    expect(addedByAva.status).toBeLessThan(300);
    const task = await waitFor(async () => {
      const tasks = await (
        await fetch(`${urls.agent}/tasks`, { headers: { ...headers, 'a2a-version': '1.0' } })
      ).json();
      return JSON.stringify(tasks).includes('what is 6*7') && tasks;
    });
    expect(JSON.stringify(task)).toContain('scheduler_job_id');
    const seenBy = async (who: Record<string, string>) =>
      JSON.stringify(await (await fetch(`${urls.agent}/tasks`, { headers: who })).json());
    await waitFor(async () => (await seenBy(ofAva)).includes('what is 7*8'));
    const byToken = { ...headers, 'a2a-version': '1.0' };
    expect(await seenBy(byToken)).not.toContain('what is 7*8');
    // Whoever holds the agent's token and has read the schedule runs it as themselves, not as her.
    const { data } = await board('/api/bus/history?topic=cron.%23');
    const { on_behalf_of, scheduler_job_id, scheduledAt } = data.messages
      .map(({ message }: { message: { payload: Record<string, unknown> } }) => message.payload)
      .find(({ content }: Record<string, unknown>) => content === 'what is 7*8');
    expect(on_behalf_of).toEqual(expect.any(String));
    const metadata = { on_behalf_of, scheduler_job_id, scheduled_at: scheduledAt };
    const parts = [{ kind: 'text', text: 'what is 7*8' }];
    const params = { message: { role: 'user', messageId: 'again', parts, metadata } };
    await fetch(`${urls.agent}/a2a`, {
      ...{ method: 'POST', headers },
      body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'message/send', params }),
    });
    expect(await seenBy(byToken)).toContain('what is 7*8');
    const { tasks: ofHers } = JSON.parse(await seenBy(ofAva)) as { tasks: object[] };
    expect(ofHers.filter((each) => JSON.stringify(each).includes('what is 7*8'))).toHaveLength(1);
  });
});
