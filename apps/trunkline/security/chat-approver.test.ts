import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { FakeGuild, waitFor } from '@trunkline/testing';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { type Attack, openMode, order, startAttack } from './attack.suite.ts';

const botId = '600000000000000001';
const [stranger, approver] = ['500000000000000001', '500000000000000002'];
const channel = '700000000000000001';

/** A chat whose channel leads to the agent service, which asks for leave to run commands. */
let guild: FakeGuild;
let attack: Attack;
beforeAll(async () => {
  guild = await FakeGuild.start({ token: { id: botId, name: 'trunk' } });
  attack = await startAttack({
    env: {
      ...openMode,
      CHAT_BOT_TOKEN: 'token',
      CHAT_GUILD_ID: guild.guildId,
      CHAT_API_URL: guild.url,
    },
    files: {
      'agent/config/agent.yaml': 'filesystem: { enabled: true, run_command: true }\n',
      'switchboard/workspace/channels.yaml': `channels: [{ id: ops, platform: chat, channelId: "${channel}", agent: agent, trustMembers: true, conversation: { enabled: true, timeoutMs: 600000 } }]\n`,
      'switchboard/workspace/approvers.yaml': `approvers: ["chat:${approver}"]\n`,
    },
  });
  await waitFor(() => guild.connected === 1);
  await waitFor(async () => {
    const agents = await (await fetch(`${attack.url('switchboard')}/api/agents`)).json();
    return agents.data.some(
      ({ name, skills }: { name: string; skills: unknown[] }) => name === 'agent' && skills.length > 0,
    );
  });
});
afterAll(async () => {
  await attack.stop();
  await guild.stop();
});

/** Says something in the channel and gives the next post there. */
async function say(content: string, userId: string): Promise<string> {
  const before = guild.posts.length;
  guild.say({ content: `<@${botId}> ${content}`, channelId: channel, userId, mentions: [botId] });
  const post = await waitFor(() => guild.posts.slice(before).find(({ channelId }) => channelId === channel));
  return post.content;
}

const marker = (name: string) => join(attack.outside, name);
const runs = (name: string) =>
  existsSync(marker(name)) ? readFileSync(marker(name), 'utf8').split('\n').length - 1 : 0;
const shell = (name: string) => order('run_command', { command: `echo ran >> ${marker(name)}` });

it("takes a stranger's yes for no approval, and tells who may give it", async () => {
  expect(await say(shell('stranger'), stranger)).toContain('Only the operator can approve it');
  expect(await say('yes', stranger)).toContain('Only the operator can approve it');
  expect(runs('stranger')).toBe(0);
});

it("hands a paired approver's own yes on to the agent, for one run", async () => {
  expect(await say(shell('approver'), approver)).toContain('Only the operator can approve it');
  expect(runs('approver')).toBe(0);
  await say('yes', approver);
  await waitFor(() => runs('approver') === 1);
  // Until the task has ended, the next words would belong to it.
  await waitFor(async () => {
    const headers = await attack.operator('agent');
    const { tasks } = await (await fetch(`${attack.url('agent')}/api/tasks`, { headers })).json();
    return tasks.length > 0 && tasks.every(({ state }: { state: string }) => state !== 'working');
  });
  expect(await say(shell('approver'), approver)).toContain('Only the operator can approve it');
  expect(runs('approver')).toBe(1);
});
