import { mkdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import {
  FakeLinear,
  type ModelServer,
  startModelServer,
  temporaryDirectory,
  waitFor,
} from '@trunkline/testing';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { agent } from '../../fixtures/crew.ts';
import { type Observer, observe } from '../../fixtures/observe.ts';
import { type Json, startSwitchboard, type TestSwitchboard } from '../../fixtures/start-switchboard.ts';

const secret = 'signing-secret';
const files = {
  'agents/helm.yaml': agent('helm', 'role: general\nskills: [{ name: chat }]'),
  'agents/planner.yaml': agent('planner', 'role: general\nskills: [{ name: plan }]'),
  'channels.yaml': 'channels: [{ id: eng, platform: tracker, channelId: ENG, agent: planner }]',
};
let [linear, model, board, seen, hook] = [] as unknown as [
  FakeLinear,
  ModelServer,
  TestSwitchboard,
  Observer,
  string,
];

beforeAll(async () => {
  linear = await FakeLinear.start({ apiKey: 'lin_api_key' });
  model = await startModelServer({ script: ({ model: name }) => `${name} has a plan` });
  board = await startSwitchboard({
    files,
    env: {
      LLM_GATEWAY_URL: model.url,
      LLM_API_KEY: 'k',
      LLM_MODEL: 'm',
      TRACKER_API_KEY: 'lin_api_key',
      TRACKER_WEBHOOK_SECRET: secret,
      TRACKER_WEBHOOK_PORT: '0',
      TRACKER_API_URL: linear.url,
      SWITCHBOARD_DELIVERY_RETRY_MS: '10',
    },
  });
  const line = await waitFor(() => board.log.find((each) => each.includes('tracker webhook server started')));
  hook = JSON.parse(line).url;
  seen = await observe(board);
});
afterAll(async () => {
  seen.close();
  await board.stop();
  await model.stop();
  await linear.stop();
});
beforeEach(() => {
  linear.mutations.length = 0;
  seen.messages.length = 0;
});

const team = { id: 'team-1', key: 'ENG' };
const issue = { id: 'issue-1', identifier: 'ENG-5', title: 'It breaks', description: 'Always.', team };
const created = (more: Json = {}) => ({
  type: 'Issue',
  action: 'create',
  data: issue,
  webhookTimestamp: Date.now(),
  ...more,
});
const session = (action: string, more: Json = {}) => ({
  type: 'AgentSessionEvent',
  action,
  webhookTimestamp: Date.now(),
  agentSession: { id: 'session.1', issue, comment: { body: '@agent look at this' }, creator: { id: 'ada' } },
  ...more,
});
const deliver = (payload: unknown, more: Json = {}) => linear.deliver(hook, payload, { secret, ...more });
const done = (name: string) => waitFor(() => linear.mutations.find((mutation) => mutation.name === name));
const publish = (topic: string, payload: Json) => board.call('/publish', { topic, payload });
const failed = (id: string) =>
  waitFor(async () => {
    const { body } = await board.call('/api/deliveries?state=failed&surface=tracker');
    return body.data.deliveries.find((delivery: Json) => delivery.id === id);
  });

describe('webhooks of the tracker', () => {
  it('bring a new issue to the agent of its team, and the answer back as a comment [S059] [S060] [S061] [S108] [S158]', async () => {
    expect(hook).toMatch(/\/webhooks\/tracker$/);
    expect((await deliver(created())).status).toBe(200);
    expect((await done('commentCreate')).input).toMatchObject({
      issueId: 'issue-1',
      body: 'model-of-planner has a plan',
    });
    const { payload, source } = await seen.first('message.inbound.tracker.issue.created');
    expect(payload.content).toBe('Issue ENG-5: It breaks\n\nAlways.');
    expect(source).toMatchObject({ interface: 'tracker', channelId: 'ENG' });
  });

  it('bring the files that are attached, by the key of the API, and answers have theirs', async () => {
    // The first file loads it, which may take a busy machine longer than the files have.
    await import('@trunkline/documents');
    linear.uploads.set('/uploads/plan.txt', Buffer.from('The train leaves at 07:42.'));
    const places = ['plan.txt', 'gone.txt'].map((name) => `[${name}](${linear.url}/uploads/${name})`);
    const description = `See:\n\n${places.join('\n\n')}\n\n![x](https://elsewhere.example/x.png)`;
    await deliver(created({ data: { ...issue, description } }));
    const { payload } = await waitFor(() => seen.messages.find((each) => each.payload.files));
    expect(payload.files).toMatchObject([{ name: 'plan.txt', mediaType: 'text/plain', size: 26 }]);
    expect(payload.content).toMatch(/\[gone\.txt could not be read: its address answers with 404\]$/);
    await done('commentCreate');
    expect(JSON.stringify(model.chats().at(-1)?.messages)).toContain('07:42');
    linear.mutations.length = 0;
    await publish('tracker.reply.issue-1', { files: payload.files });
    expect((await done('commentCreate')).input.body).toBe(`[plan.txt](${linear.url}/uploads/plan.txt)`);
    linear.server.fail('PUT /uploads', { status: 413, body: 'too large' });
    await publish('tracker.agent_activity.session-1', { content: 'Here.', files: payload.files });
    expect((await done('agentActivityCreate')).input.content).toMatchObject({
      body: 'Here.\n\nThe tracker did not take plan.txt: its storage answers with 413',
    });
  });

  it('open a session with an agent, which shows at once that it looks, and then answers [S107] [S141]', async () => {
    await deliver(session('created'));
    await waitFor(() => linear.mutations.length === 2);
    expect(linear.mutations.map(({ input }) => input)).toMatchObject([
      { agentSessionId: 'session.1', content: { type: 'thought', body: 'Looking into it.' } },
      { agentSessionId: 'session.1', content: { type: 'response', body: 'model-of-planner has a plan' } },
    ]);
    await deliver(session('prompted', { agentActivity: { content: { body: 'and now?' } } }));
    expect((await seen.first('message.inbound.tracker.agent_session.prompted')).payload.content).toBe(
      'and now?',
    );
  });

  it('are taken once, however often they are sent', async () => {
    for (let time = 0; time < 3; time += 1)
      expect((await deliver(created(), { id: 'same' })).status).toBe(200);
    await deliver(created({ data: { ...issue, id: 'issue-2' } }));
    await waitFor(() => linear.mutations.filter(({ input }) => input.issueId === 'issue-2').length === 1);
    expect(linear.mutations.filter(({ name }) => name === 'commentCreate')).toHaveLength(2);
  });

  it('are refused when the signature, the body, the age or the size is wrong', async () => {
    const status = async (payload: unknown, more: Json = { secret }) =>
      (await linear.deliver(hook, payload, more)).status;
    expect(await status(created(), { secret: 'another' })).toBe(401);
    expect(await status(created(), {})).toBe(401);
    expect(await status('{"half')).toBe(400);
    expect(await status({ type: 'Issue' })).toBe(400);
    expect(await status(created({ webhookTimestamp: Date.now() - 301_000 }))).toBe(400);
    expect(await status(created({ webhookTimestamp: Date.now() + 301_000 }))).toBe(400);
    expect(await status('x'.repeat(1024 * 1024 + 1))).toBe(413);
    expect(await status(created({ action: 'update' }))).toBe(200);
    expect(
      (await linear.deliver(hook.replace('tracker', 'linear'), created({ action: 'remove' }), { secret }))
        .status,
    ).toBe(200);
  });
});

describe('what goes out', () => {
  it('makes and changes issues', async () => {
    await publish('tracker.create.issue', { title: 'New', teamId: 'team-1', priority: 2 });
    expect((await done('issueCreate')).input).toMatchObject({
      title: 'New',
      teamId: 'team-1',
      priority: 2,
      id: expect.any(String),
    });
    await publish('tracker.update.issue.issue-9', { stateId: 'done' });
    expect(await done('issueUpdate')).toMatchObject({ id: 'issue-9', input: { stateId: 'done' } });
    await publish('tracker.agent_activity.s1', { type: 'elicitation', content: 'Which one?' });
    expect((await done('agentActivityCreate')).input).toMatchObject({
      content: { type: 'elicitation', body: 'Which one?' },
    });
  });

  it('waits out limits and failures, under the same id each time', async () => {
    const limited = {
      message: 'Rate limit exceeded',
      extensions: { type: 'ratelimited', code: 'RATELIMITED' },
    };
    linear.server.fail('/graphql', {
      status: 400,
      headers: { 'retry-after': '0' },
      body: { errors: [limited] },
    });
    linear.server.fail('/graphql', { status: 502, body: {} });
    linear.server.fail('/graphql', 'cut');
    const { body } = await publish('tracker.reply.issue-1', { content: 'patience' });
    await done('commentCreate');
    const bodies = linear.server.requests
      .map(({ body: sent }) => JSON.stringify(sent))
      .filter((text) => text.includes('patience'));
    expect(bodies.length).toBe(4);
    expect(new Set(bodies).size).toBe(1);
    await waitFor(async () => {
      const { body: list } = await board.call('/api/deliveries?state=sent&surface=tracker');
      return list.data.deliveries.some(({ id }: Json) => id === body.id);
    });
  });

  it.each([
    ['tracker.create.issue', { title: 'Once', teamId: 'team-1' }, 'issueCreate'],
    ['tracker.reply.issue-1', { content: 'Once' }, 'commentCreate'],
    ['tracker.agent_activity.s1', { content: 'Once' }, 'agentActivityCreate'],
  ])(
    'counts %s as sent that the tracker has stored though its answer was lost',
    async (topic, payload, name) => {
      linear.lostAnswers = 1;
      const { body } = await publish(topic, payload);
      const delivery = await waitFor(async () => {
        const { deliveries } = (await board.call('/api/deliveries?surface=tracker&limit=100')).body.data;
        return deliveries.find(({ id, state }: Json) => id === body.id && state !== 'queued');
      });
      expect(delivery.state).toBe('sent');
      expect(linear.mutations.map((each) => each.name)).toEqual([name]);
    },
  );

  it.each([
    ['tracker.create.issue', { title: 'x' }, 'teamId'],
    ['tracker.update.issue.5', {}, 'nothing to change'],
    ['tracker.reply.5', {}, 'content'],
    ['tracker.dance', { content: 'x' }, 'is nothing that the tracker does'],
  ])('refuses %s with %j', async (topic, payload, words) => {
    const { body } = await publish(topic, payload);
    expect((await failed(body.id)).error).toContain(words);
  });

  it('fails in words when the tracker refuses', async () => {
    const error = {
      message: 'Entity not found: Issue',
      extensions: { type: 'invalid input', userError: true },
    };
    linear.server.fail('/graphql', { status: 400, body: { errors: [error] } });
    const { body } = await publish('tracker.reply.none', { content: 'x' });
    expect((await failed(body.id)).error).toContain('Entity not found');
  });
});

describe('an agent with OAuth', () => {
  const oauth = { clientId: 'id', clientSecret: 'client-secret', refreshToken: 'first-token' };
  const environment = (url: string) => ({
    TRACKER_CLIENT_ID: oauth.clientId,
    TRACKER_CLIENT_SECRET: oauth.clientSecret,
    TRACKER_REFRESH_TOKEN: oauth.refreshToken,
    TRACKER_WEBHOOK_PORT: '0',
    TRACKER_API_URL: url,
    SWITCHBOARD_DELIVERY_RETRY_MS: '10',
  });

  it('goes on though its newest token cannot be kept: each works once', async () => {
    const fake = await FakeLinear.start({ oauth });
    const directory = temporaryDirectory();
    // What stands in the way of the file, as a full disk would.
    mkdirSync(join(directory.path, 'switchboard', 'tracker-token.json', 'in-the-way'), { recursive: true });
    const board = await startSwitchboard({ home: directory.path, env: environment(fake.url) });
    const reply = (content: string) =>
      board.call('/publish', { topic: 'tracker.reply.i', payload: { content } });
    for (const [index, word] of ['one', 'two', 'three'].entries()) {
      await reply(word);
      await waitFor(() => fake.mutations.length === index + 1);
      fake.expireToken();
    }
    expect(board.log.join('')).toContain('failed to store the newest token');
    expect(board.log.join('')).not.toMatch(/refresh-\d/);
    await board.stop();
    await fake.stop();
    directory.remove();
  });

  it('renews its token, keeps the newest for the next start, and tells when it is refused', async () => {
    const fake = await FakeLinear.start({ oauth });
    const directory = temporaryDirectory();
    const env = environment(fake.url);
    const first = await startSwitchboard({ env, home: directory.path });
    const reply = (on: TestSwitchboard, content: string) =>
      on.call('/publish', { topic: 'tracker.reply.i', payload: { content } });
    await reply(first, 'one');
    await waitFor(() => fake.mutations.length === 1);
    fake.expireToken();
    await reply(first, 'two');
    await waitFor(() => fake.mutations.length === 2);
    // What is cut off before its answer came is sent again after the start.
    await waitFor(async () => (await first.call('/api/deliveries?state=sent')).body.data.count === 2);
    await first.stop();
    expect(readFileSync(join(directory.path, 'switchboard', 'tracker-token.json'), 'utf8')).toContain(
      'refresh-2',
    );
    const second = await startSwitchboard({ env, home: directory.path });
    const watching = await observe(second);
    await reply(second, 'three');
    await waitFor(() => fake.mutations.length === 3);
    fake.revoked = true;
    fake.expireToken();
    await reply(second, 'four');
    expect((await watching.first('auth.token_refresh_failed')).payload).toMatchObject({ surface: 'tracker' });
    expect(second.log.join('')).not.toMatch(/client-secret|first-token|refresh-3/);
    watching.close();
    await second.stop();
    await fake.stop();
    directory.remove();
  });
});
