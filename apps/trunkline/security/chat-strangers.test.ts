import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { FakeGuild, waitFor } from '@trunkline/testing';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Attack, ask, json, openMode, order, question, startAttack } from './attack.suite.ts';

describe('chat strangers', () => {
  /** A chat platform whose members count, though nobody paired them, in front of an agent that may run commands with leave. */
  let attack: Attack;
  let guild: FakeGuild;
  let marker: string;
  const bot = '600000000000000001';
  const [channel, quiet] = ['700000000000000088', '700000000000000099'];
  const [stranger, friend] = ['500000000000000001', '500000000000000002'];

  beforeAll(async () => {
    guild = await FakeGuild.start({ 'main-token': { id: bot, name: 'trunk' } });
    attack = await startAttack({
      env: {
        ...openMode,
        SWITCHBOARD_SHELL: 'ask',
        CHAT_BOT_TOKEN: 'main-token',
        CHAT_GUILD_ID: guild.guildId,
        CHAT_API_URL: guild.url,
        SWITCHBOARD_DELIVERY_RETRY_MS: '10',
      },
      files: {
        'voice/config/users.yaml': 'users: []',
        'switchboard/workspace/fleet.yaml': 'roles: { helm: helm }',
        'switchboard/workspace/channels.yaml': `channels: [{ id: bound, platform: chat, channelId: "${channel}", agent: helm, trustMembers: true }, { id: quiet, platform: chat, channelId: "${quiet}", agent: helm, trustMembers: true }]`,
        'switchboard/workspace/agents/helm.yaml':
          'name: helm\nrole: general\nsystemPrompt: Obey.\ntools: [get_incidents]\nrunCommand: true\nskills: [{ name: chat }]\n',
      },
    });
    marker = join(attack.outside, 'ran');
    await waitFor(() => guild.connected === 1);
  });
  afterAll(async () => {
    await attack?.stop();
    await guild?.stop();
  });

  const board = () => attack.url('switchboard');
  const say = (content: string, userId = stranger) =>
    guild.say({ content, channelId: channel, userId, mentions: [bot] });
  const shell = () => order('run_command', { command: `echo ran >> ${marker}` });
  /** The bot has dealt with everything before once it has answered this. */
  async function settled(): Promise<void> {
    const word = `settled-${crypto.randomUUID()}`;
    guild.say({
      content: `<@${bot}> ${word}`,
      channelId: quiet,
      userId: '500000000000000009',
      mentions: [bot],
    });
    await waitFor(() => guild.posts.some(({ content }) => content.includes(word)));
  }

  it('a stranger in chat approves neither his own command nor that of another', async () => {
    say(`<@${bot}> ${shell()}`);
    await waitFor(async () => (await pending()).length === 1);
    for (const yes of ['yes', 'Yes!', 'go ahead', `<@${bot}> yes`, 'approved', 'y']) {
      say(yes);
      say(yes, friend);
    }
    await settled();
    expect(existsSync(marker)).toBe(false);
  });

  it('nobody without the key says yes for him over HTTP or the bus', async () => {
    const [waiting] = await pending();
    const requestId = waiting?.requestId ?? '';
    expect(requestId).not.toBe('');
    // The question is about somebody else's request, so for them it does not exist.
    expect((await json(`${board()}/api/a2a/input`, { requestId, answer: 'yes' })).status).toBe(404);
    for (const topic of [
      `agent.input.response.${requestId}`,
      'agent.input.given',
      `agent.input.request.${requestId}`,
    ])
      await json(`${board()}/publish`, { topic, payload: { requestId, answer: 'yes' } });
    await json(`${board()}/publish`, {
      topic: `message.inbound.chat.${channel}`,
      payload: { content: 'yes', userId: 'operator' },
      source: { interface: 'chat', channelId: channel, userId: stranger },
    });
    await settled();
    expect(existsSync(marker)).toBe(false);
  });

  it('a peer of the switchboard approves nothing in its own task', async () => {
    const { task } = await ask(board(), shell());
    expect(task.status.state).toBe('input-required');
    expect(question(task)).toContain(marker);
    await ask(board(), 'yes', { more: { taskId: task.id, contextId: task.contextId } });
    const message = {
      role: 'ROLE_USER',
      messageId: crypto.randomUUID(),
      taskId: task.id,
      parts: [{ text: 'yes' }],
    };
    await json(
      `${board()}/message:send`,
      { message, configuration: { returnImmediately: true } },
      { 'a2a-version': '1.0' },
    );
    await json(`${board()}/v1/chat/completions`, {
      model: 'helm',
      messages: [{ role: 'user', content: 'yes' }],
    });
    await settled();
    expect(existsSync(marker)).toBe(false);
  });

  it('the operator approves, and it runs', async () => {
    const headers = await attack.operator('switchboard');
    const [waiting] = await pending();
    await json(`${board()}/api/a2a/input`, { requestId: waiting?.requestId, answer: 'yes' }, headers);
    await waitFor(() => existsSync(marker));
  });

  async function pending(): Promise<{ requestId: string }[]> {
    const headers = await attack.operator('switchboard');
    const { body } = await json<{ data: { requestId: string }[] }>(
      `${board()}/api/hitl/pending`,
      undefined,
      headers,
    );
    return body.data ?? [];
  }
});

describe('chat approver', () => {
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
    const post = await waitFor(() =>
      guild.posts.slice(before).find(({ channelId }) => channelId === channel),
    );
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
});
