import { join } from 'node:path';
import { anonymous, ownerKey } from '@trunkline/identity';
import {
  callersOf,
  type ModelServer,
  noPeers,
  person,
  startModelServer,
  type TestCaller,
  temporaryDirectory,
  waitFor,
} from '@trunkline/testing';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { agent } from './fixtures/crew.ts';
import { type Observer, observe } from './fixtures/observe.ts';
import { type Json, startSwitchboard, type TestSwitchboard } from './fixtures/start-switchboard.ts';
import { FlowStore } from './flows/flow-store.ts';
import { DeliveryStore } from './surfaces/delivery/delivery-store.ts';

const peers = noPeers();
let model: ModelServer;
let board: TestSwitchboard;
let who: ReturnType<typeof callersOf>;
const feeds = new Map<TestCaller, Observer>();

beforeAll(async () => {
  model = await startModelServer({ script: () => 'I heard you' });
  board = await startSwitchboard({
    files: {
      'agents/helm.yaml': agent('helm', 'role: orchestrator\nskills: [{ name: chat }]'),
      'mcp-servers.d/paid.yaml': `name: paid\ntrust: trusted\ntransport: http\nurl: http://127.0.0.1:9/\${PAID_PATH}\nenabled: false\n`,
    },
    env: {
      LLM_GATEWAY_URL: model.url,
      LLM_API_KEY: 'k',
      LLM_MODEL: 'm',
      TRUNKLINE_OPEN: '0',
      PAID_PATH: 'sesame',
    },
    peers,
  });
  who = callersOf({ url: board.url, home: board.home, serviceToken: peers.serviceToken });
  for (const caller of [who.ava, who.bob, who.nobody, who.operator]) {
    const as = {
      ...board,
      fetch: (path: string, init?: RequestInit) => board.fetch(path, { ...init, headers: caller.headers }),
    };
    feeds.set(caller, await observe(as));
  }
});
afterAll(async () => {
  for (const feed of feeds.values()) feed.close();
  await board.stop();
  await model.stop();
});

let number = 0;
/** A request of somebody's to the agent; its correlation, once it is answered, unless it asks back. */
async function request(caller: TestCaller, content: string, isAnswered = true): Promise<string> {
  const correlationId = `request-${++number}`;
  const payload = { skillHint: 'chat', content, conversationId: 'talk' };
  expect(
    (await caller('POST /publish', { topic: 'agent.skill.request', payload, correlationId })).status,
  ).toBe(200);
  if (isAnswered) await feeds.get(who.operator)?.first('flow.item.completed', correlationId);
  return correlationId;
}

/** Another's thing is answered like one that does not exist, whose name stands in its place. */
async function expectMissing(caller: TestCaller, sent: string, id: string, body?: unknown): Promise<void> {
  const [there, missing] = [
    await caller(sent.replace('ID', id), body && JSON.parse(JSON.stringify(body).replace('ID', id))),
    await caller(
      sent.replace('ID', 'no-such'),
      body && JSON.parse(JSON.stringify(body).replace('ID', 'no-such')),
    ),
  ];
  expect([sent, there.status, there.text.replaceAll(id, 'no-such')]).toEqual([sent, 404, missing.text]);
}

it('keeps flows, their traces and the messages of one person from others, on the live feed too', async () => {
  const correlationId = await request(who.ava, 'my secret plan');
  const ofNobody = await request(who.nobody, 'for all to see');
  const id = `skill-${correlationId}`;
  const feed = (caller: TestCaller) => feeds.get(caller)?.messages.map((message) => message.correlationId);
  for (const other of [who.bob, who.nobody]) {
    expect((await other('GET /api/flows')).text).not.toContain(correlationId);
    expect((await other('GET /api/flows')).text).toContain(ofNobody);
    await expectMissing(other, 'GET /api/flows/ID', id);
    expect((await other(`GET /api/bus/history?correlationId=${correlationId}`)).json<Json>().data.count).toBe(
      0,
    );
    await waitFor(() =>
      feeds
        .get(other)
        ?.messages.some(
          (message) => message.topic === 'flow.item.completed' && message.correlationId === ofNobody,
        ),
    );
    expect(feed(other)).not.toContain(correlationId);
  }
  for (const caller of [who.ava, who.operator]) {
    expect((await caller('GET /api/flows')).text).toContain(correlationId);
    expect((await caller(`GET /api/flows/${id}`)).text).toContain('"trace"');
    expect((await caller(`GET /api/bus/history?correlationId=${correlationId}`)).text).toContain(
      'my secret plan',
    );
    await waitFor(() => feed(caller)?.includes(correlationId));
  }
});

it('keeps conversations apart that go by the same id', async () => {
  const said = (name: string) => `${name} said this`;
  for (const [caller, name] of [
    [who.ava, 'Ava'],
    [who.bob, 'Bob'],
    [who.ava, 'Ava'],
  ] as const)
    await request(caller, said(name));
  const heard = JSON.stringify(model.chats().at(-1)?.messages);
  expect([heard.includes(said('Ava')), heard.includes(said('Bob'))]).toEqual([true, false]);
  const turns = async (caller: TestCaller) => {
    const correlationId = `turns-${++number}`;
    const query = { topic: 'logger.turn.query', payload: {}, reply: { topic: `note.turns` }, correlationId };
    await caller('POST /publish', query);
    return JSON.stringify((await feeds.get(caller)?.first('note.turns', correlationId))?.payload);
  };
  expect(await turns(who.bob)).not.toContain(said('Ava'));
  expect(await turns(who.ava)).toContain(said('Ava'));
  expect(await turns(who.operator)).toContain(said('Bob'));
});

it('lets nobody else see or answer the questions of an agent to a person', async () => {
  model.enqueue(
    { toolCalls: [{ name: 'ask_human', arguments: { question: 'Which door?' } }] },
    'the left one',
  );
  const correlationId = await request(who.ava, 'open it', false);
  const asked = await feeds.get(who.ava)?.first(`agent.input.request.${correlationId}`);
  const requestId: string = asked?.payload.requestId;
  for (const other of [who.bob, who.nobody]) {
    expect((await other('GET /api/hitl/pending')).json<Json>().data).toEqual([]);
    await expectMissing(other, 'POST /api/a2a/input', requestId, { requestId: 'ID', answer: 'left' });
  }
  expect((await who.operator('GET /api/hitl/pending')).text).toContain(requestId);
  expect((await who.ava('GET /api/hitl/pending')).text).toContain(requestId);
  expect((await who.ava('POST /api/a2a/input', { requestId, answer: 'left' })).status).toBe(200);
  // The same words under the same correlation are a question of Bob's own.
  void who
    .bob('POST /api/agent/ask-human', { correlationId, question: 'Which door?' })
    .catch(() => undefined);
  await waitFor(async () => (await who.bob('GET /api/hitl/pending')).text.includes('Which door?'));
});

it('shows the history of a one-shot that has fired to whoever made it', async () => {
  const payload = { content: 'once' };
  for (const ask of [who.ava, who.nobody]) {
    const schedule = {
      id: `once-${ask.name}`,
      schedule: new Date().toISOString(),
      topic: 'cron.once',
      payload,
    };
    expect((await ask('POST /api/schedules', schedule)).status).toBe(201);
    await waitFor(async () => {
      const { text } = await ask(`GET /api/schedules/${schedule.id}`);
      return text.includes('"schedule":null') && text.includes('fireId');
    });
  }
  await expectMissing(who.bob, 'GET /api/schedules/ID', 'once-ava');
  await expectMissing(who.nobody, 'GET /api/schedules/ID', 'once-ava');
});

it('lets nobody else see or command a schedule', async () => {
  const schedule = {
    id: 'daily-plan',
    schedule: '0 9 * * *',
    topic: 'cron.daily-plan',
    payload: { content: 'my plan' },
  };
  expect((await who.ava('POST /api/schedules', schedule)).status).toBe(201);
  for (const other of [who.bob, who.nobody]) {
    expect((await other('GET /api/schedules')).text).not.toContain('my plan');
    for (const sent of [
      'GET /api/schedules/ID',
      'DELETE /api/schedules/ID',
      'POST /api/schedules/ID/pause',
      'POST /api/schedules/ID/resume',
      'POST /api/schedules/ID/run-now',
    ])
      await expectMissing(other, sent, schedule.id);
    // An id is taken once in an installation.
    expect((await other('PUT /api/schedules/daily-plan', schedule)).status).toBe(403);
    expect((await other('POST /api/schedules', schedule)).status).toBe(403);
  }
  expect((await who.operator('GET /api/schedules')).text).toContain('my plan');
  expect((await who.ava('POST /api/schedules/daily-plan/run-now')).status).toBe(200);
  const fired = await feeds.get(who.ava)?.first('cron.daily-plan');
  expect(fired?.principal).toMatchObject({ kind: 'person', id: 'voice:ava' });
  expect((await who.ava('DELETE /api/schedules/daily-plan')).status).toBe(200);
});

it('shows what came of a schedule, and its errors, to whoever made it alone', async () => {
  const schedule = {
    id: 'call-abroad',
    schedule: '0 9 * * *',
    topic: 'cron.call-abroad',
    payload: { content: 'my plan', channel: 'a2a', agent_name: 'hidden-agent' },
  };
  expect((await who.ava('POST /api/schedules', schedule)).status).toBe(201);
  expect((await who.ava('POST /api/schedules/call-abroad/run-now')).status).toBe(200);
  const fired = await feeds.get(who.ava)?.first('cron.call-abroad');
  const payload = { source: 'ava', plugin: 'hers', error: 'hidden-agent is ill' };
  expect((await who.ava('POST /publish', { topic: 'system.error', payload })).status).toBe(200);
  for (const viewer of [who.ava, who.operator]) {
    await waitFor(() =>
      feeds
        .get(viewer)
        ?.messages.some(
          ({ topic, correlationId }) =>
            topic.startsWith('agent.skill.response.') && correlationId === fired?.correlationId,
        ),
    );
    await waitFor(async () => (await viewer('GET /api/alerts')).text.includes('hidden-agent'));
  }
  expect((await who.ava('DELETE /api/schedules/call-abroad')).status).toBe(200);
  const isFile = ({ topic, payload }: Observer['messages'][number]) =>
    topic === 'config.updated' && JSON.stringify(payload).includes('call-abroad');
  await waitFor(() => feeds.get(who.operator)?.messages.filter(isFile).length === 2);
  await request(who.nobody, 'the last word');
  for (const other of [who.bob, who.nobody]) {
    await waitFor(() => JSON.stringify(feeds.get(other)?.messages).includes('the last word'));
    expect(JSON.stringify(feeds.get(other)?.messages)).not.toMatch(/call-abroad|hidden-agent/);
    expect((await other('GET /api/alerts')).text).not.toContain('hidden-agent');
  }
});

it('tells a request that no agent takes to its sender alone', async () => {
  const correlationId = `request-${++number}`;
  const payload = { content: 'x', skillHint: 'no-such-skill' };
  const draft = { topic: 'message.inbound.chat.x', payload, correlationId };
  expect((await who.ava('POST /publish', draft)).status).toBe(200);
  await feeds.get(who.ava)?.first('dispatch.dropped.no_skill', correlationId);
  const ofNobody = await request(who.nobody, 'the very last word');
  const about = (caller: TestCaller) => feeds.get(caller)?.messages.map((message) => message.correlationId);
  await waitFor(() => about(who.bob)?.includes(ofNobody));
  expect(about(who.bob)).not.toContain(correlationId);
});

it('keeps A2A tasks and their contexts apart', async () => {
  const rpc = async (caller: TestCaller, method: string, params: object) =>
    (await caller('POST /a2a', { jsonrpc: '2.0', id: 1, method, params })).json<Json>();
  const send = async (caller: TestCaller, text: string, contextId?: string) => {
    const about = { kind: 'message', messageId: crypto.randomUUID(), role: 'user', contextId };
    return (await rpc(caller, 'message/send', { message: { ...about, parts: [{ kind: 'text', text }] } }))
      .result;
  };
  const { id, contextId } = await send(who.ava, 'Ava in a task');
  for (const other of [who.bob, who.nobody]) {
    expect((await other('GET /tasks')).text).not.toContain(id);
    for (const method of ['tasks/get', 'tasks/cancel', 'tasks/resubscribe']) {
      const { error } = await rpc(other, method, { id });
      expect([method, error.code]).toEqual([method, -32001]);
    }
    for (const named of [contextId, `${ownerKey(person('ava'))}:${contextId}`]) {
      await send(other, 'what did she say', named);
      expect(JSON.stringify(model.chats().at(-1)?.messages)).not.toContain('Ava in a task');
    }
  }
  expect((await rpc(who.ava, 'tasks/get', { id })).result.id).toBe(id);
  await send(who.ava, 'once more', contextId);
  expect(JSON.stringify(model.chats().at(-1)?.messages)).toContain('Ava in a task');
});

it('lists deliveries by owner, and looks owners up by an index', () => {
  const { path, remove } = temporaryDirectory();
  const [deliveries, flows] = [new DeliveryStore(join(path, 'd.db')), new FlowStore(join(path, 'f.db'))];
  const draft = {
    topic: 'message.outbound.chat.1',
    payload: {},
    correlationId: 'c',
    timestamp: 1,
    version: 1,
  };
  for (const [id, principal] of [
    ['ava', person('ava')],
    ['bob', person('bob')],
    ['nobody', undefined],
  ] as const)
    deliveries.open('chat', { ...draft, id, ...(principal && { principal }) } as never);
  const listed = (principal: typeof anonymous) =>
    deliveries
      .list({ limit: 10, principal })
      .map(({ id }) => id)
      .sort();
  expect(listed(person('ava'))).toEqual(['ava', 'nobody']);
  expect(listed(anonymous)).toEqual(['nobody']);
  expect(listed({ kind: 'operator', id: 'operator', via: [] })).toEqual(['ava', 'bob', 'nobody']);
  for (const store of [deliveries, flows]) store.close();
  remove();
});

it('lets members and, without a key, everybody send through surfaces, but no guest', async () => {
  const guest = who.as(person('gus', 'guest'));
  const outbound = { topic: 'message.outbound.cli', payload: { content: 'hi' } };
  for (const caller of [who.ava, who.nobody])
    expect((await caller('POST /publish', outbound)).status).toBe(200);
  const answered = { topic: 'message.inbound.cli', payload: {}, reply: { topic: outbound.topic } };
  for (const draft of [outbound, answered]) expect((await guest('POST /publish', draft)).status).toBe(403);
  const topics = [
    'tracker.comment',
    'cloud.mail.reply.m1',
    'operator.message.request',
    'agent.skill.request',
  ];
  const surfaces = ['message.inbound.messenger.+491', 'message.inbound.chat.1', 'cron.x', 'note.x'];
  for (const topic of [...topics, ...surfaces])
    expect([topic, (await guest('POST /publish', { topic, payload: { content: 'x' } })).status]).toEqual([
      topic,
      403,
    ]);
  const schedule = { id: 'guests', schedule: '0 9 * * *', topic: 'cron.guests', payload: { content: 'x' } };
  expect((await guest('POST /api/schedules', schedule)).status).toBe(403);
});

it('lets a guest talk to public agents, and say nothing of where the words come from', async () => {
  const guest = who.as(person('gus', 'guest'));
  const sent = {
    topic: 'message.inbound.api.talk',
    correlationId: 'of-a-guest',
    payload: {
      content: 'hi',
      agent: 'helm',
      routing: { topic: 'note.named' },
      project: { platform: 'chat', channelId: '1' },
    },
    source: { interface: 'chat', channelId: 'bound', userId: 'ava' },
    reply: { topic: 'message.outbound.api.talk' },
  };
  expect((await guest('POST /publish', sent)).status).toBe(200);
  const seen = feeds.get(who.operator);
  const inbound = await seen?.first(sent.topic, 'of-a-guest');
  expect(inbound?.payload).toEqual({ content: 'hi', agent: 'helm' });
  expect(inbound?.source).toEqual({ interface: 'api', userId: 'person:voice:gus' });
  const dropped = await seen?.first('dispatch.dropped.unpaired', 'of-a-guest');
  expect(dropped?.payload.why).toContain('the agent helm is not public');
});

it('shows what MCP servers are made of to the operator alone, as the file says it', async () => {
  for (const path of ['/api/mcp-servers', '/api/mcp-servers/paid']) {
    for (const caller of [who.ava, who.nobody, who.operator])
      expect((await caller(`GET ${path}`)).text).not.toContain('sesame');
    const shown = [(await who.ava(`GET ${path}`)).json<Json>().data].flat();
    expect(shown).toEqual([
      { name: 'paid', transport: 'http', trust: 'trusted', enabled: false, error: null },
    ]);
    expect((await who.operator(`GET ${path}`)).text).toContain(`http://127.0.0.1:9/\${PAID_PATH}`);
  }
});
