import { parseDataStreamPart } from '@ai-sdk/ui-utils';
import type { Service } from '@trunkline/service';
import {
  type ModelServer,
  type SearchServer,
  startModelServer,
  startSearchServer,
  temporaryDirectory,
  waitFor,
} from '@trunkline/testing';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { clientOf, corpus } from './fixtures/lab.ts';
import { startResearch } from './fixtures/service.ts';

const home = temporaryDirectory();
let search: SearchServer;
let model: ModelServer;
let service: Service;
let client: ReturnType<typeof clientOf>;

beforeAll(async () => {
  search = await startSearchServer({ pages: corpus });
  model = await startModelServer();
  service = await startResearch(home.path, {
    SEARXNG_URL: search.searxngUrl,
    ENCYCLOPEDIA_URL: search.encyclopediaUrl,
    LLM_GATEWAY_URL: model.url,
    LLM_MODEL: 'test-model',
  });
  client = clientOf(service.url);
});
afterAll(async () => {
  model.release();
  await service.stop();
  await Promise.all([model.stop(), search.stop()]);
  home.remove();
});

const ask = (content: string) => ({ messages: [{ role: 'user', content }] });
const partsOf = (stream: string) =>
  stream
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => ({
      prefix: line.slice(0, line.indexOf(':')),
      value: JSON.parse(line.slice(line.indexOf(':') + 1)) as never,
    }));

describe('the chat', () => {
  it('streams text and the end with usage, as plain text in the data stream format [A007] [A138] [A157] [A160]', async () => {
    model.enqueue({ text: 'Tides rise.', usage: { input: 11, output: 7 } });
    const response = await client.post('/api/chat', ask('Hello'));
    expect(response.headers.get('content-type')).toBe('text/plain; charset=utf-8');
    expect(response.headers.get('x-vercel-ai-data-stream')).toBe('v1');
    const parts = partsOf(await response.text());
    expect(
      parts
        .filter(({ prefix }) => prefix === '0')
        .map(({ value }) => value)
        .join(''),
    ).toBe('Tides rise.');
    expect(parts.at(-1)).toEqual({
      prefix: 'd',
      value: { finishReason: 'stop', usage: { promptTokens: 11, completionTokens: 7 } },
    });
  });

  it('searches the web by category and gives calls with their results [A143] [A158]', async () => {
    model.enqueue(
      { toolCalls: [{ name: 'searchWeb', arguments: { query: 'tidal streams', categories: 'science' } }] },
      'Turbines stand in currents [1].',
    );
    const parts = partsOf(await client.chat(ask('How do tidal streams work?')));
    const calls = parts.filter(({ prefix }) => prefix === '2').map(({ value }) => value);
    expect(calls).toEqual([
      [
        {
          type: 'tool_call',
          toolName: 'searchWeb',
          args: { query: 'tidal streams', categories: 'science' },
          result: expect.any(Array),
        },
      ],
    ]);
    const [{ result }] = calls[0] as unknown as [{ result: Record<string, unknown>[] }];
    expect(result.find(({ url }) => String(url).endsWith('/tidal-streams'))).toEqual({
      title: expect.any(String),
      url: expect.stringMatching(/^http/),
      snippet: expect.any(String),
      number: expect.any(Number),
      engines: ['corpus', 'mirror'],
      publishedDate: expect.any(String),
    });
    expect(search.requests.some((request) => request.includes('categories=science'))).toBe(true);
  });

  it('searches the encyclopedia [A144]', async () => {
    model.enqueue(
      { toolCalls: [{ name: 'searchEncyclopedia', arguments: { query: 'history of tidal power' } }] },
      'Mills.',
    );
    const parts = partsOf(await client.chat(ask('History?')));
    const [call] = parts.find(({ prefix }) => prefix === '2')!.value as unknown as [
      { toolName: string; result: { url: string }[] },
    ];
    expect(call.toolName).toBe('searchEncyclopedia');
    expect(call.result.map(({ url }) => url)).toContainEqual(expect.stringContaining('curid='));
  });

  it('asks back by an annotation, and takes the next message as the answer [A145] [A159]', async () => {
    model.enqueue({
      toolCalls: [{ id: 'c1', name: 'askClarification', arguments: { question: 'Which Paris?' } }],
    });
    const first = partsOf(await client.chat({ ...ask('Weather in Paris'), id: 'clarify' }));
    expect(first.map(({ prefix }) => prefix)).toEqual(['8', 'd']);
    expect(first[0]?.value).toEqual([{ type: 'clarification', question: 'Which Paris?' }]);
    expect(await client.json('/api/chat/clarify')).toMatchObject({ awaitingAnswer: true });
    model.enqueue('Fine in Texas.');
    const messages = [
      ...ask('Weather in Paris').messages,
      { role: 'assistant', content: 'Which Paris?' },
      { role: 'user', content: 'Texas' },
    ];
    const second = partsOf(await client.chat({ messages, id: 'clarify' }));
    expect(second.at(-1)?.prefix).toBe('d');
    expect(model.chats().at(-1)?.messages.at(-1)).toMatchObject({
      role: 'tool',
      tool_call_id: 'c1',
      content: 'Texas',
    });
    expect(await client.json('/api/chat/clarify')).toMatchObject({ awaitingAnswer: false });
  });

  it('draws charts as data, checks their figures against the results, and keeps both', async () => {
    const chart = {
      type: 'bar',
      title: 'Capacity of stations',
      labels: ['La Rance', 'Sihwa Lake'],
      series: [{ name: 'Capacity', values: [240, 999] }],
      unit: 'megawatts',
    };
    const draw = (drawn: object) => ({ toolCalls: [{ name: 'chart', arguments: drawn }] });
    model.enqueue(
      { toolCalls: [{ name: 'searchWeb', arguments: { query: 'tidal power' } }] },
      draw({ ...chart, labels: ['La Rance'] }),
      draw(chart),
      'Here they are.',
    );
    const parts = partsOf(await client.chat({ ...ask('Draw the stations'), id: 'chart' }));
    const calls = parts.filter(({ prefix }) => prefix === '2').flatMap(({ value }) => value as object[]);
    expect(calls.slice(1)).toEqual([
      expect.objectContaining({ toolName: 'chart', error: expect.stringContaining('2 values for 1 labels') }),
      { type: 'tool_call', toolName: 'chart', args: chart, result: [{ shown: chart.title }] },
    ]);
    const figures = [
      expect.objectContaining({
        text: expect.stringMatching(
          /\| La Rance \| 240 megawatts \[[\d?]+\] \|\n\| Sihwa Lake \| 999 megawatts \[\?\] \|/,
        ),
        citations: expect.objectContaining({ statements: 2 }),
      }),
    ];
    expect(parts.at(-2)).toEqual({
      prefix: '8',
      value: [expect.objectContaining({ type: 'citations', figures })],
    });
    expect(await client.json('/api/chat/chart')).toMatchObject({
      messages: [{}, { content: 'Here they are.', charts: [chart], checked: { figures } }],
    });
    // Nothing is drawn at /v1, so that no chart is offered there.
    model.enqueue('No.');
    await client.post('/v1/chat/completions', { ...ask('Draw'), model: 'research-chat' });
    const offered =
      model
        .chats()
        .at(-1)
        ?.tools?.map((tool) => JSON.stringify(tool)) ?? [];
    expect(offered).toHaveLength(3);
  });

  it('asks one question a turn, even when the model asks two', async () => {
    const question = (id: string) => ({
      id,
      name: 'askClarification',
      arguments: { question: `Which ${id}?` },
    });
    model.enqueue({ toolCalls: [question('city'), question('year')] });
    const parts = partsOf(await client.chat(ask('Weather in Paris')));
    expect(parts.map(({ prefix }) => prefix)).toEqual(['8', 'd']);
    expect(parts[0]?.value).toEqual([{ type: 'clarification', question: 'Which city?' }]);
  });

  it('stops after five tool-call steps and answers without tools [A192]', async () => {
    const step = (_: unknown, index: number) => ({
      toolCalls: [{ name: 'searchWeb', arguments: { query: `tidal ${index}` } }],
    });
    model.enqueue(...Array.from({ length: 5 }, step), 'Enough.');
    const before = model.chats().length;
    const parts = partsOf(await client.chat(ask('Dig deep')));
    expect(parts.filter(({ prefix }) => prefix === '2')).toHaveLength(5);
    expect(
      parts
        .filter(({ prefix }) => prefix === '0')
        .map(({ value }) => value)
        .join(''),
    ).toContain('Enough.');
    const chats = model.chats().slice(before);
    expect(chats.map(({ tools }) => tools?.length ?? 0)).toEqual([4, 4, 4, 4, 4, 0]);
    model.enqueue(...Array.from({ length: 6 }, step));
    expect(partsOf(await client.chat(ask('Dig deeper'))).filter(({ prefix }) => prefix === '2')).toHaveLength(
      5,
    );
  });

  it('tells a failure of the model in an e line and ends [A161] [A181]', async () => {
    model.enqueue({ fault: 'status', status: 401, message: 'no' });
    const parts = partsOf(await client.chat(ask('Hello')));
    expect(parts).toEqual([
      { prefix: 'e', value: { finishReason: 'error', message: expect.stringContaining('LLM_API_KEY') } },
    ]);
  });

  it('tells a failing search in words within the call', async () => {
    search.faults.searxng = { status: 500 };
    model.enqueue(
      { toolCalls: [{ name: 'searchWeb', arguments: { query: 'tidal' } }] },
      'The search failed.',
    );
    const parts = partsOf(await client.chat(ask('Search')));
    search.faults.searxng = 'none';
    expect(parts.find(({ prefix }) => prefix === '2')?.value).toEqual([
      expect.objectContaining({
        result: [],
        error: expect.stringMatching(/^Error: Nothing was found in your files\. SearXNG .* status 500/),
      }),
    ]);
  });

  it('tells what could not be searched beside what was found, and keeps it with the answer', async () => {
    const form = new FormData();
    form.append('file', new File(['# Mills\n\nTidal mills ground corn.'], 'mills.md'));
    await fetch(`${service.url}/api/files`, { method: 'POST', body: form });
    search.faults.searxng = { status: 500 };
    model.enqueue({ toolCalls: [{ name: 'searchWeb', arguments: { query: 'mills' } }] }, 'They did [1].');
    const parts = partsOf(await client.chat({ ...ask('Mills?'), id: 'mills' }));
    search.faults.searxng = 'none';
    const troubles = [expect.stringMatching(/^SearXNG .* status 500/)];
    expect(parts.find(({ prefix }) => prefix === '2')?.value).toEqual([
      expect.objectContaining({
        result: [expect.objectContaining({ title: 'Mills', snippet: 'Mills: Tidal mills ground corn.' })],
        troubles,
      }),
    ]);
    expect(await client.json('/api/chat/mills')).toMatchObject({ messages: [{}, { troubles }] });
  });

  it('is read by the parser of the AI SDK 4', async () => {
    model.enqueue(
      { toolCalls: [{ name: 'searchWeb', arguments: { query: 'tidal' } }] },
      'Answer.',
      { toolCalls: [{ name: 'askClarification', arguments: { question: 'What?' } }] },
      { fault: 'status', status: 401 },
    );
    const streams = [
      await client.chat(ask('one')),
      await client.chat(ask('two')),
      await client.chat(ask('three')),
    ];
    const types = streams.map((stream) => [
      ...new Set(
        stream
          .split('\n')
          .filter(Boolean)
          .map((line) => parseDataStreamPart(line).type),
      ),
    ]);
    expect(types).toEqual([
      ['data', 'text', 'finish_message'],
      ['message_annotations', 'finish_message'],
      ['finish_step'],
    ]);
  });

  it('says that it waits for a model that is being loaded', async () => {
    const loading = { fault: 'status', status: 503, retryAfter: '1', message: 'Loading model' } as const;
    model.enqueue(loading, 'Ready.');
    const parts = partsOf(await (await client.post('/api/chat', ask('Hello'))).text());
    expect([...new Set(parts.map(({ prefix }) => prefix))]).toEqual(['2', '0', 'd']);
    expect(parts[0]?.value).toEqual([{ type: 'note', text: expect.stringContaining('is being loaded') }]);
    model.enqueue(loading, 'Ready.');
    const completion = { ...ask('Hello'), model: 'research-chat', stream: true };
    const frames = await (await client.post('/v1/chat/completions', completion)).text();
    expect(frames).toMatch(/"reasoning_content":"[^"]*is being loaded[\s\S]*"content":"Ready/);
  });

  it('marks tokens as estimated that the endpoint did not count', async () => {
    model.enqueue({ text: 'Tides rise.', usage: { input: 0, output: 0 } });
    const parts = partsOf(await (await client.post('/api/chat', ask('Hello'))).text());
    expect(parts.at(-1)?.value).toMatchObject({ usage: { estimated: true } });
  });

  it('stops the call of the model when the client leaves', async () => {
    model.enqueue({ fault: 'stall', text: 'Wait' });
    const leave = new AbortController();
    const response = await fetch(`${service.url}/api/chat`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(ask('Hello')),
      signal: leave.signal,
    });
    await response.body?.getReader().read();
    leave.abort();
    await waitFor(() => model.requests.at(-1)?.abandoned);
  });

  it('stores a conversation under its id', async () => {
    model.enqueue('Stored.');
    await client.chat({ ...ask('Keep this'), id: 'kept' });
    expect(await client.json('/api/chat/kept')).toMatchObject({
      id: 'kept',
      messages: [
        { role: 'user', content: 'Keep this' },
        { role: 'assistant', content: 'Stored.' },
      ],
    });
    expect((await fetch(`${service.url}/api/chat/unknown`)).status).toBe(404);
  });

  it('does not store an answer to a conversation that was deleted while it was made', async () => {
    model.enqueue({ fault: 'stall', text: 'So far', answer: ', and the rest.' });
    const answer = client.chat({ ...ask('Forget this'), id: 'dropped' });
    await waitFor(() => JSON.stringify(model.chats().at(-1)).includes('Forget this'));
    const path = `${service.url}/api/chat/dropped`;
    expect((await fetch(path, { method: 'DELETE' })).status).toBe(204);
    model.release();
    expect(await answer).toContain('d:{"finishReason":"stop"');
    expect((await fetch(path)).status).toBe(404);
  });

  it.each([
    {},
    { messages: [] },
    { messages: [{ role: 'system', content: 'x' }] },
    { messages: [{ role: 'user', content: ' ' }] },
    {
      messages: [
        { role: 'user', content: 'a' },
        { role: 'assistant', content: 'b' },
      ],
    },
    { messages: 'hi' },
  ])('refuses %j with 400 before any stream', async (body) => {
    const response = await client.post('/api/chat', body);
    expect(response.status).toBe(400);
    expect(await response.json()).toEqual({ error: expect.any(String) });
  });
});
