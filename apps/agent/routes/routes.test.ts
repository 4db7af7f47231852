import { readSse } from '@trunkline/http';
import { type ModelServer, startModelServer, waitFor } from '@trunkline/testing';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ActiveAgent } from '../agent-factory.ts';
import { healthReport } from '../app.ts';
import { modelEnvironment, post, startAgent, type TestAgent } from '../fixtures/start-agent.ts';

let model: ModelServer;
let agent: TestAgent;

beforeAll(async () => {
  model = await startModelServer();
  agent = await startAgent({
    env: { ...modelEnvironment(model.url), AGENT_NAME: 'my agent', A2A_PUBLIC_URL: 'https://agent.example' },
  });
});
afterAll(async () => {
  await agent.stop();
  await model.stop();
});

const get = async (path: string) => (await agent.fetch(path)).json();
const send = async (path: string, body: unknown, method = 'POST') =>
  (await agent.fetch(path, { ...post(body), method })).json();

describe('health', () => {
  it('says 503 until the agent is compiled, then 200 [A004] [A124] [A176]', async () => {
    expect(healthReport(new ActiveAgent().isReady, {})).toMatchObject({
      status: 503,
      body: { ok: false, graph_compiled: false },
    });
    expect(await get('/healthz')).toMatchObject({
      ok: true,
      graph_compiled: true,
      setup_complete: false,
      ui: 'full',
      model: { name: 'test-model', demo: false },
    });
  });
});

describe('the card', () => {
  it('names the public address and what works [A027] [A028] [A119]', async () => {
    const card = await get('/.well-known/agent-card.json');
    expect(JSON.stringify(card)).toContain('https://agent.example/a2a');
    expect(JSON.stringify(card)).toContain('hitl-mode-v1');
  });
});

describe('chat', () => {
  it('keeps a conversation by its session and forgets it when told to', async () => {
    model.enqueue(
      'Hello.',
      { toolCalls: [{ name: 'ask_human', arguments: { question: 'Tea?' } }] },
      'Tea it is.',
    );
    expect(await send('/api/chat', { message: 'Hi', session_id: 's' })).toMatchObject({
      response: 'Hello.',
      messages: [
        { role: 'user', content: 'Hi' },
        { role: 'assistant', content: 'Hello.' },
      ],
    });
    const asked = await send('/api/chat', { message: 'Drinks', session_id: 's' });
    expect(asked).toMatchObject({ response: 'Tea?', state: 'input-required' });
    const answered = await send('/api/chat', { message: 'yes', session_id: 's' });
    expect(answered).toMatchObject({ response: 'Tea it is.', task_id: asked.task_id });
    expect(await send('/api/chat/sessions/s', undefined, 'DELETE')).toEqual({ ok: true, deleted: true });
    model.enqueue('Who?');
    expect(await send('/api/chat', { message: 'Again', session_id: 's' })).toMatchObject({
      messages: [{ content: 'Again' }, { content: 'Who?' }],
    });
  });

  it('says in words when the turn fails, and refuses an empty message', async () => {
    model.enqueue({ fault: 'status', status: 401 });
    expect(await send('/api/chat', { message: 'Hi' })).toMatchObject({
      state: 'failed',
      response: expect.stringContaining('LLM_API_KEY'),
    });
    expect(await send('/api/chat', { message: ' ' })).toMatchObject({
      detail: expect.stringContaining('message'),
    });
  });
});

describe('inbox and events', () => {
  it('tells readers of urgent items and the turns they start [A090] [A127] [A128] [A156]', async () => {
    const comments: string[] = [];
    const controller = new AbortController();
    const stream = await agent.fetch('/api/events', { signal: controller.signal });
    const events: { event: string; data: Record<string, unknown> }[] = [];
    const reading = (async () => {
      const body = stream.body as AsyncIterable<Uint8Array>;
      for await (const { event, data } of readSse(body, { onComment: (text) => comments.push(text) })) {
        events.push({ event, data: JSON.parse(data) });
      }
    })().catch((error: unknown) => expect(String(error)).toContain('abort'));
    await waitFor(() => comments.includes('connected'));

    model.enqueue('On my way.');
    const { item, fired } = await send('/api/inbox', { text: 'Fire!', priority: 'now', source: 'bell' });
    expect([item, fired]).toMatchObject([{ text: 'Fire!', priority: 'now' }, true]);
    await waitFor(() => events.length >= 3);
    expect(events).toMatchObject([
      { event: 'inbox.item', data: { priority: 'now', source: 'bell', text: 'Fire!' } },
      {
        event: 'activity.message',
        data: { role: 'user', context_id: 'system:activity', origin: 'inbox', priority: 'now' },
      },
      { event: 'activity.message', data: { role: 'assistant', text: 'On my way.' } },
    ]);
    // Somebody outside wrote it: the turn asks before effects.
    const asked = model
      .chats()
      .at(-1)
      ?.messages.findLast(({ role }) => role === 'user');
    expect(asked?.content).toMatch(/^<outside-\w+ from="inbox bell">\nFire!/);

    model.enqueue('A private word.');
    await agent.send('Just between us.');
    expect(JSON.stringify(events)).not.toContain('private');
    controller.abort();
    await reading;
  });

  it('takes the same key once in five minutes, and marks what was delivered', async () => {
    const first = await send('/api/inbox', { text: 'Post', dedup_key: 'k' });
    expect(first).toMatchObject({ ok: true, fired: false, item: { priority: 'next' } });
    expect(await send('/api/inbox', { text: 'Post', dedup_key: 'k' })).toEqual({ ok: true, deduped: true });
    const { id } = first.item;
    expect((await get('/api/inbox?floor=next')).items).toContainEqual(expect.objectContaining({ id }));
    await send(`/api/inbox/${id}/deliver`, {});
    expect((await get('/api/inbox')).items).not.toContainEqual(expect.objectContaining({ id }));
    const all = await get('/api/inbox?include_delivered=true');
    expect(all.items).toContainEqual(expect.objectContaining({ id, delivered_at: expect.any(String) }));
    expect((await agent.fetch('/api/inbox/99999/deliver', post({}))).status).toBe(404);
    expect((await agent.fetch('/api/inbox', post({ text: 'x', priority: 'soon' }))).status).toBe(400);
  });

  it('pages through the inbox whole and once while more comes in and items are delivered', async () => {
    const other = await startAgent();
    const put = async (text: string, priority: string) =>
      (await (await other.fetch('/api/inbox', post({ text, priority }))).json()) as { item: { id: number } };
    const page = async (more: string) =>
      (await (await other.fetch(`/api/inbox?limit=2${more}`)).json()) as {
        items: { text: string }[];
        next: string | null;
      };
    for (const text of ['c', 'd', 'e']) await put(text, 'later');
    const a = await put('a', 'next');
    await put('b', 'next');
    const first = await page('');
    await put('came late', 'next');
    await put('more urgent', 'now');
    await other.fetch(`/api/inbox/${a.item.id}/deliver`, post({}));
    const second = await page(`&after=${first.next}`);
    const third = await page(`&after=${second.next}`);
    expect([first, second, third].map(({ items }) => items.map(({ text }) => text))).toEqual([
      ['a', 'b'],
      ['came late', 'c'],
      ['d', 'e'],
    ]);
    expect(third.next).toBeNull();
    expect((await page('&offset=4')).items.map(({ text }) => text)).toEqual(['d', 'e']);
    expect((await other.fetch('/api/inbox?after=soon.1')).status).toBe(400);
    await other.stop();
  });

  it('starts at most eight turns a minute', async () => {
    const other = await startAgent();
    const results = [];
    for (let count = 0; count < 10; count += 1) {
      const response = await other.fetch('/api/inbox', post({ text: `item ${count}`, priority: 'now' }));
      results.push(((await response.json()) as { fired: boolean }).fired);
    }
    expect(results).toEqual([true, true, true, true, true, true, true, true, false, false]);
    await other.stop();
  });
});

it('writes the tool calls of MCP clients to the audit log too', async () => {
  const other = await startAgent({ config: 'mcp: { serve: true }' });
  const params = { name: 'calculator', arguments: { expression: '40+2' } };
  const headers = { 'content-type': 'application/json', accept: 'application/json, text/event-stream' };
  const call = post({ jsonrpc: '2.0', id: 1, method: 'tools/call', params });
  expect((await other.fetch('/mcp', { ...call, headers })).status).toBe(200);
  const { lines } = (await (await other.fetch('/api/audit')).json()) as { lines: object[] };
  expect(lines).toMatchObject([
    { session_id: 'mcp', tool: 'calculator', args: { expression: '40+2' }, success: true },
  ]);
  await other.stop();
});

describe('metrics', () => {
  it('have the decided names under the name of the agent [A030] [A125]', async () => {
    model.enqueue({ toolCalls: [{ name: 'calculator', arguments: { expression: '1+1' } }] }, 'Two.');
    await agent.send('1+1?');
    const text = await (await agent.fetch('/metrics')).text();
    for (const sample of [
      'my_agent_llm_calls_total{model="test-model",finish_reason="tool-calls"}',
      'my_agent_llm_latency_seconds_bucket',
      'my_agent_llm_tokens_total{model="test-model",direction="input"}',
      'my_agent_llm_cost_usd_total',
      'my_agent_tool_calls_total{tool_name="calculator",success="true"}',
      'my_agent_tool_latency_seconds_bucket',
      'my_agent_active_sessions 0',
      'my_agent_a2a_turns_total{state="completed"}',
      'my_agent_a2a_turn_seconds_count',
    ]) {
      expect(text).toContain(sample);
    }
  });
});

describe('streams', () => {
  it('carry the task first, then progress, tool frames and the answer in pieces [A105] [A131] [A153] [A154]', async () => {
    model.enqueue({ toolCalls: [{ name: 'calculator', arguments: { expression: '2*4' } }] }, 'Eight in all.');
    const stream = await agent.fetch(
      '/a2a',
      post({
        jsonrpc: '2.0',
        id: 1,
        method: 'message/stream',
        params: { message: { role: 'user', parts: [{ kind: 'text', text: '2*4?' }] } },
      }),
    );
    const frames: { kind: string; [name: string]: unknown }[] = [];
    for await (const { data } of readSse(stream.body as AsyncIterable<Uint8Array>))
      frames.push(JSON.parse(data).result);
    expect(frames[0]).toMatchObject({ kind: 'task', status: { state: 'working' } });
    expect(frames.every(({ kind }) => ['task', 'status-update', 'artifact-update'].includes(kind))).toBe(
      true,
    );
    const whole = JSON.stringify(frames);
    for (const phase of ['started', 'completed']) expect(whole).toContain(`"phase":"${phase}"`);
    expect(whole).toContain('2*4 = 8');
    expect(frames.at(-1)).toMatchObject({
      kind: 'status-update',
      final: true,
      status: { state: 'completed' },
    });
  });

  it('close to other origins when origins are listed [A042] [A151] [A175]', async () => {
    const guarded = await startAgent({ env: { A2A_ALLOWED_ORIGINS: 'https://good.example' } });
    const ask = (headers: Record<string, string>) =>
      guarded.fetch('/message:stream', {
        ...post({ message: { role: 'user', parts: [{ kind: 'text', text: 'hi' }] } }),
        headers: { 'content-type': 'application/json', ...headers },
      });
    const statuses = await Promise.all(
      [{}, { origin: 'https://evil.example' }, { origin: 'HTTPS://GOOD.example' }].map(async (headers) => {
        const response = await ask(headers as Record<string, string>);
        await response.body?.cancel();
        return response.status;
      }),
    );
    expect(statuses).toEqual([403, 403, 200]);
    await guarded.stop();
  });
});
