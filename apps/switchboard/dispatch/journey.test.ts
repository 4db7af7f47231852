import { waitFor } from '@trunkline/testing';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { agent, type Crew, startCrew } from '../fixtures/crew.ts';
import type { Json } from '../fixtures/start-switchboard.ts';

let crew: Crew;
let { model, board, seen, publish } = {} as Crew;
beforeAll(async () => {
  crew = await startCrew();
  ({ model, board, seen, publish } = crew);
});
afterAll(() => crew.stop());

const tryOut = async (topic: string, payload: Json = {}, source?: Json) =>
  (await board.call('/api/routes/test', { topic, payload, source })).body.data;

describe('from a message to its answer', () => {
  it('brings a message to the agent at the helm and its reply back [S001] [S005] [S036] [S038] [S118] [S112]', async () => {
    const id = await publish('message.inbound.cli', { content: 'hello' });
    const reply = await seen.first('message.outbound.cli', id);
    expect(reply.payload).toMatchObject({
      content: 'model-of-helm heard you',
      taskState: 'completed',
      correlationId: id,
    });
    const response = await seen.first(`agent.skill.response.${id}`);
    expect(response.payload).toMatchObject({
      durationMs: expect.any(Number),
      usage: { totalTokens: expect.any(Number) },
    });
    expect(
      model
        .chats()
        .at(-1)
        ?.messages.map(({ content }) => content),
    ).toEqual(['You are helm.', 'hello']);
  });

  it('answers at the reply topic of the message, with the skill it names [S117] [S044]', async () => {
    const reply = { topic: 'message.outbound.chat.dm.user.5' };
    const id = await publish('agent.skill.request', { skillHint: 'incidents', content: 'x' }, { reply });
    expect((await seen.first(reply.topic, id)).payload.content).toBe('model-of-warden heard you');
    expect(model.chats().at(-1)?.messages[0]?.content).toBe('Only incidents.');
  });

  it('records the flow with its trace, and says how it went [S084] [S127] [S125]', async () => {
    const id = await publish('message.inbound.cli', { content: 'trace me' });
    await seen.first('autonomous.outcome.api.chat', id);
    for (const event of ['created', 'updated', 'completed']) {
      const { payload } = await seen.first(`flow.item.${event}`, id);
      expect(payload.id).toBe(`skill-${id}`);
      expect(JSON.stringify(payload)).not.toContain('trace me');
    }
    const { body: list } = await board.call('/api/flows?status=complete&limit=5');
    expect(list.flows[0]).toMatchObject({
      id: `skill-${id}`,
      type: 'skill',
      status: 'complete',
      stage: 'done',
      skill: 'chat',
      requestPreview: 'trace me',
    });
    expect(list.count).toBe(list.flows.length);
    const { body: one } = await board.call(`/api/flows/skill-${id}`);
    expect(one.data).toMatchObject({ executorType: 'in-process', targetAgent: 'helm', errorPreview: null });
    expect(one.data.trace.map(({ event }: Json) => event)).toEqual(['request', 'start', 'end']);
    expect(one.data.trace[0].details.routing).toMatchObject({
      rule: 'default',
      topic: 'message.inbound.cli',
    });
    expect((await board.call('/api/flows/skill-none')).status).toBe(404);
    expect((await board.call(`/api/flows?since=${Date.now() + 60_000}`)).body.count).toBe(0);
  });

  it('measures what a webhook brought in [S121]', async () => {
    const repo = { owner: 'o', repo: 'r', number: 3 };
    const id = await publish('message.inbound.codehost.o.r', {
      content: 'x',
      arrivedAt: Date.now() - 50,
      repo,
    });
    const { payload } = await seen.first('agent.skill.latency', id);
    expect(payload).toEqual({
      skill: 'chat',
      totalMs: expect.any(Number),
      queueMs: expect.any(Number),
      executeMs: expect.any(Number),
      repo,
    });
    expect(payload.totalMs).toBe(payload.queueMs + payload.executeMs);
  });

  it('takes schedules as messages, and answers in their channel [S128] [S116]', async () => {
    const id = await publish('cron.daily', { content: 'report', channel: 'messenger', sender: '+49.1' });
    expect((await seen.first('message.outbound.messenger.+49%2E1', id)).payload.content).toContain(
      'heard you',
    );
    const plain = await publish('cron.nightly', { content: 'report', skillHint: 'incidents' });
    expect((await seen.first('message.outbound.cli', plain)).payload.content).toBe(
      'model-of-warden heard you',
    );
  });

  it('streams progress and tool frames to those who ask for them [S119] [S120]', async () => {
    model.enqueue({ toolCalls: [{ name: 'get_incidents', arguments: {} }] });
    const id = await publish('agent.skill.request', { skillHint: 'incidents', content: 'x', stream: true });
    expect((await seen.first(`agent.skill.toolframe.${id}`)).payload).toMatchObject({
      type: 'tool-start',
      name: 'get_incidents',
    });
    await seen.first(`agent.skill.progress.${id}`);
    await seen.first(`agent.skill.response.${id}`);
  });
});

describe('where a message goes', () => {
  it.each([
    [
      'message.inbound.cli',
      { content: 'x', skillHint: 'incidents' },
      { rule: 'skill-hint', agent: 'warden' },
    ],
    ['message.inbound.chat.77', { content: 'x' }, { rule: 'channel', agent: 'warden', skill: 'incidents' }],
    [
      'message.inbound.cli',
      { content: 'an OUTAGE again' },
      { rule: 'keyword', agent: 'warden', skill: 'incidents' },
    ],
    ['message.inbound.cli', { content: 'x' }, { rule: 'default', agent: 'helm', executorType: 'in-process' }],
    ['deploy.finished', { result: { status: 'failed' } }, { rule: 'route', agent: 'warden' }],
    ['deploy.finished', { result: { status: 'fine' } }, { dispatched: false }],
    ['message.inbound.cli', { skillHint: 'nothing' }, { dispatched: false, reason: 'no_skill' }],
    [
      'message.inbound.cli',
      { skillHint: 'chat', agent: 'warden' },
      { dispatched: false, reason: 'target_unresolved' },
    ],
  ])('%s with %j is told by a dry run', async (topic, payload, expected) => {
    expect(await tryOut(topic, payload)).toMatchObject({
      dispatched: true,
      ...expected,
      why: expect.any(String),
    });
  });

  it('refuses to try a topic that is none', async () => {
    expect((await board.call('/api/routes/test', { topic: 'a..b' })).status).toBe(400);
  });

  it('keeps a direct conversation, and one in a channel that holds them, with its agent', async () => {
    const source = { interface: 'chat', userId: 'u1', channelId: 'd9' };
    const first = await publish('message.inbound.chat.d9', { content: 'outage!', direct: true }, { source });
    await seen.first(`agent.skill.response.${first}`);
    expect(
      await tryOut('message.inbound.chat.d9', { content: 'and now?', direct: true }, source),
    ).toMatchObject({ rule: 'conversation', agent: 'warden' });
    const other = { ...source, userId: 'u2' };
    expect(
      await tryOut('message.inbound.chat.d9', { content: 'and now?', direct: true }, other),
    ).toMatchObject({ rule: 'default' });
    const inChannel = { ...source, channelId: '88' };
    const second = await publish('message.inbound.chat.88', { content: 'outage!' }, { source: inChannel });
    await seen.first(`agent.skill.response.${second}`);
    expect(await tryOut('message.inbound.chat.88', { content: 'more' }, inChannel)).toMatchObject({
      rule: 'conversation',
    });
  });

  it('runs routes on other topics, and ends routes that feed themselves [S133] [S148]', async () => {
    const id = await publish('deploy.finished', { result: { status: 'failed' } });
    expect((await seen.first('message.outbound.cli', id)).payload.content).toBe('model-of-warden heard you');
    const loop = await publish('loop.start', { content: 'go' });
    const error = await seen.first('system.error');
    expect(error.payload).toMatchObject({ plugin: 'routes', error: expect.stringContaining('12 hops') });
    expect(
      seen.messages.filter((m) => m.topic === 'agent.skill.request' && m.correlationId === loop),
    ).toHaveLength(12);
  });

  it('follows new agents and routes [S152] [S133]', async () => {
    board.write(
      'agents/cook.yaml',
      agent('cook', 'role: general\nskills: [{ name: cook, keywords: [soup] }]'),
    );
    board.write(
      'routes.d/bell.yaml',
      'name: bell\nwhen: { topic: bell.rang }\nthen: { skill: cook, topic: message.outbound.cli }',
    );
    await waitFor(async () => (await tryOut('bell.rang')).agent === 'cook');
    const id = await publish('message.inbound.cli', { content: 'soup please' });
    expect((await seen.first('message.outbound.cli', id)).payload.content).toBe('model-of-cook heard you');
  });
});

describe('what cannot be dispatched', () => {
  it.each([
    ['no_skill', { skillHint: 'nothing', content: 'x' }],
    ['no_skill', { content: 'x' }],
    ['target_unresolved', { skillHint: 'chat', agent: 'nobody', content: 'x' }],
    ['target_unresolved', { skillHint: 'chat', agent: 'warden', content: 'x' }],
  ])('is dropped as %s for %j, with a reply that says so [S126] [S147]', async (reason, payload) => {
    const id = await publish('agent.skill.request', payload, { reply: { topic: 'note.answer' } });
    expect((await seen.first(`dispatch.dropped.${reason}`, id)).payload.why).toEqual(expect.any(String));
    expect((await seen.first('note.answer', id)).payload).toMatchObject({
      taskState: 'rejected',
      content: expect.stringMatching(/^Error: /),
    });
    expect((await board.call(`/api/flows/skill-${id}`)).body.data).toMatchObject({
      stage: 'error',
      status: 'complete',
    });
  });

  it('cools down: a flood of one key runs once [S126]', async () => {
    const repo = { owner: 'o', repo: 'r', number: 7, sha: 'abcdef0123' };
    const ask = (sha: string) =>
      publish('agent.skill.request', { skillHint: 'pr_review', content: 'x', repo: { ...repo, sha } });
    const ids = await Promise.all(Array.from({ length: 5 }, () => ask('abcdef0123')));
    await Promise.all(ids.map((id) => seen.first(`agent.skill.response.${id}`)));
    const dropped = seen.messages.filter(
      ({ topic, correlationId }) => topic === 'dispatch.dropped.cooldown' && ids.includes(correlationId),
    );
    expect(dropped).toHaveLength(4);
    expect((await seen.first(`agent.skill.response.${await ask('fedcba')}`)).payload.taskState).toBe(
      'completed',
    );
  });

  it('fails with words when the model breaks, and goes on', async () => {
    model.enqueue({ fault: 'status', status: 400, message: 'nonsense' });
    const broken = await publish('agent.skill.request', { skillHint: 'chat', content: 'x' });
    expect((await seen.first(`agent.skill.response.${broken}`)).payload).toMatchObject({
      taskState: 'failed',
      error: expect.any(String),
    });
    model.enqueue({ fault: 'malformed' });
    const nonsense = await publish('agent.skill.request', { skillHint: 'chat', content: 'x' });
    expect((await seen.first(`agent.skill.response.${nonsense}`)).payload).toMatchObject({
      taskState: 'failed',
      error: expect.stringContaining('cannot be read'),
    });
    const fine = await publish('agent.skill.request', { skillHint: 'chat', content: 'x' });
    expect((await seen.first(`agent.skill.response.${fine}`)).payload.taskState).toBe('completed');
  });

  it('fails with words when the model hangs', async () => {
    const hasty = await startCrew({ SWITCHBOARD_SKILL_TIMEOUT_MS: '1000' });
    onTestFinished(() => hasty.stop());
    hasty.model.enqueue({ fault: 'stall' });
    const hung = await hasty.publish('agent.skill.request', { skillHint: 'chat', content: 'x' });
    expect((await hasty.seen.first(`agent.skill.response.${hung}`)).payload).toMatchObject({
      taskState: 'failed',
      error: expect.stringContaining('1 s'),
    });
  });
});
