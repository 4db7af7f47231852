import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { waitFor } from '@trunkline/testing';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Attack, json, raw, startAttack } from './attack.suite.ts';
import { keys } from './security.suite.ts';

/** Two programs whose names begin alike, each with a key of its own. */
let attack: Attack;
const keysFile = (names: string[]) =>
  `keys:\n${names
    .map(
      (name) =>
        `  - { name: ${name}, envKey: KEY_${name.toUpperCase().replace('-', '_')}, publish: ["cron.${name}.#", "command.schedule"], subscribe: ["cron.${name}.#"] }`,
    )
    .join('\n')}\n`;

beforeAll(async () => {
  attack = await startAttack({
    env: { KEY_AVA: 'key-of-ava', KEY_AVA_B: 'key-of-ava-b' },
    files: { 'switchboard/workspace/keys.yaml': keysFile(['ava', 'ava-b']) },
  });
  await waitFor(async () => (await publish('ava', 'cron.ava.hello', { content: 'x' })).status === 200);
});
afterAll(() => attack.stop());

type Who = 'ava' | 'ava-b' | 'admin';
const key = (who: Who) => ({ 'x-api-key': who === 'admin' ? keys.switchboard : `key-of-${who}` });
const publish = (who: Who, topic: string, payload: object, more: object = {}) =>
  json(`${attack.url('switchboard')}/publish`, { topic, payload, ...more }, key(who));
const scheduleFile = (id: string) => join(attack.home, 'switchboard', 'workspace', 'crons', `${id}.yaml`);

const add = (id: string, more: object = {}, payload: object = {}) => ({
  action: 'add',
  id,
  schedule: '0 0 1 1 *',
  topic: `cron.${id.split('-').slice(0, -1).join('-')}.${id}`,
  payload: { content: 'x', ...payload },
  ...more,
});

describe('the key of ava', () => {
  it('touches no schedule of ava-b', async () => {
    await publish('ava-b', 'command.schedule', add('ava-b-report'));
    await waitFor(() => existsSync(scheduleFile('ava-b-report')));
    for (const action of ['remove', 'pause', 'run-now', 'resume'])
      await publish('ava', 'command.schedule', { action, id: 'ava-b-report' });
    await publish(
      'ava',
      'command.schedule',
      add('ava-b-report', { topic: 'cron.ava.x', payload: { content: 'taken over' } }),
    );
    await publish('ava-b', 'command.schedule', add('ava-b-after'));
    await waitFor(() => existsSync(scheduleFile('ava-b-after')));
    expect(existsSync(scheduleFile('ava-b-report'))).toBe(true);
    const { text } = await json(
      `${attack.url('switchboard')}/api/schedules/ava-b-report`,
      undefined,
      key('admin'),
    );
    expect(text).not.toContain('taken over');
    expect(text).not.toMatch(/"enabled":false/);
  });

  it('touches no schedule whose owner is not known', async () => {
    const id = 'ava-b-legacy';
    const legacy = `id: ${id}\nschedule: "0 0 1 1 *"\ntopic: cron.ava-b.x\npayload: { content: x }\n`;
    mkdirSync(dirname(scheduleFile(id)), { recursive: true });
    writeFileSync(scheduleFile(id), legacy);
    const seen = async () =>
      (await json(`${attack.url('switchboard')}/api/schedules/${id}`, undefined, key('admin'))).status;
    await waitFor(async () => (await seen()) === 200);
    for (const action of ['pause', 'remove']) await publish('ava', 'command.schedule', { action, id });
    await publish('ava', 'command.schedule', add('ava-mine', { topic: 'cron.ava.y' }));
    await waitFor(() => existsSync(scheduleFile('ava-mine')));
    expect(readFileSync(scheduleFile(id), 'utf8')).toBe(legacy);
  });

  it.each([
    ['an agent', {}, { agent: 'helm' }],
    ['an agent elsewhere', {}, { channel: 'a2a', agent_name: 'agent', scheduler_job_id: 'x' }],
    ['a skill', {}, { skillHint: 'incidents' }],
    ['a chat channel', {}, { channel: '700000000000000001' }],
    ['a messenger', {}, { channel: 'messenger', sender: '+123' }],
    ['a foreign topic', { topic: 'cron.ava-b.x' }, {}],
    ['a command', { topic: 'command.mcp.upsert' }, {}],
    ['a forged message', { topic: 'message.inbound.cli' }, {}],
  ])('schedules nothing that reaches %s beyond its patterns', async (name, more, payload) => {
    const id = `ava-${name.replaceAll(' ', '-')}`;
    await publish('ava', 'command.schedule', add(id, { topic: 'cron.ava.x', ...more }, payload));
    await publish('ava', 'command.schedule', add('ava-fence', { topic: 'cron.ava.y' }));
    await waitFor(() => existsSync(scheduleFile('ava-fence')));
    await publish('ava', 'command.schedule', { action: 'remove', id: 'ava-fence' });
    await waitFor(() => !existsSync(scheduleFile('ava-fence')));
    expect(existsSync(scheduleFile(id))).toBe(false);
  });

  it.each([
    'command.mcp.upsert',
    'message.inbound.cli',
    'agent.skill.response.x',
    'agent.input.response.x',
    'cron.ava-b.x',
    'cron.avab',
    'message.outbound.chat.1',
  ])('has no answer put on %s', async (topic) => {
    const { status } = await publish('ava', 'cron.ava.x', { content: 'x' }, { reply: { topic } });
    expect(status).toBe(403);
    const direct = await publish('ava', topic, { content: 'x' });
    expect(direct.status).toBe(403);
  });

  it('reads nothing of others, by no pattern', async () => {
    await publish('ava-b', 'cron.ava-b.secret', { content: 'word-of-ava-b' });
    for (const topic of [
      '%23',
      'cron.%23',
      'cron.*.%23',
      'cron.ava-b.%23',
      'cron.ava.%23',
      'command.%23',
      '',
    ]) {
      const query = topic === '' ? '' : `?topic=${topic}`;
      const { text } = await json(
        `${attack.url('switchboard')}/api/bus/history${query}`,
        undefined,
        key('ava'),
      );
      expect(text).not.toContain('word-of-ava-b');
    }
    for (const path of [
      '/api/schedules',
      '/api/changes',
      '/api/agents',
      '/api/mcp-servers',
      '/api/flows',
      '/api/hitl/pending',
      '/a2a',
      '/v1/models',
      '/operator',
    ])
      expect((await raw(attack.url('switchboard'), 'GET', path, { headers: key('ava') })).text).not.toMatch(
        /"owner":"ava-b"|word-of-ava-b|"operator":true/,
      );
  });

  it('hears nothing more on an open stream once it is taken back', async () => {
    const stream = await fetch(`${attack.url('switchboard')}/api/bus/stream?topic=cron.ava.%23`, {
      headers: key('ava'),
    });
    expect(stream.status).toBe(200);
    let heard = '';
    let ended = false;
    const reading = (async () => {
      for await (const chunk of stream.body ?? []) heard += Buffer.from(chunk as Uint8Array).toString();
    })()
      .catch(() => undefined)
      .finally(() => {
        ended = true;
      });
    await publish('admin', 'cron.ava.x', { content: 'before' });
    await waitFor(() => heard.includes('before'));
    writeFileSync(join(attack.home, 'switchboard', 'workspace', 'keys.yaml'), keysFile(['ava-b']));
    await waitFor(() => ended);
    await reading;
    await publish('admin', 'cron.ava.x', { content: 'after' });
    expect(heard).not.toContain('after');
    expect((await publish('ava', 'cron.ava.x', { content: 'x' })).status).toBe(401);
  });
});
