import { join } from 'node:path';
import { setImmediate as macrotask } from 'node:timers/promises';
import { type A2aServer, createA2aServer, type Executor } from '@trunkline/a2a';
import { createLogger } from '@trunkline/config';
import { createApp, type RunningServer, serve } from '@trunkline/http';
import { accountPrincipal, ownerKey, type Principal } from '@trunkline/identity';
import { temporaryDirectory } from '@trunkline/testing';
import OpenAI, { type APIError } from 'openai';
import type { ResponseStreamEvent } from 'openai/resources/responses/responses';
import { afterEach, describe, expect, it, vi } from 'vitest';
import {
  type Answer,
  type AnswerEvent,
  mountOpenAiApi,
  openAiErrorBody,
  Responses,
  type ToolCall,
} from '../index.ts';

/** A service with tasks whose one model answers by what the test brings. */
class Toy {
  readonly #home = temporaryDirectory();
  now = Date.now();
  quotaBytes = 2 ** 30;
  isSummarising = true;
  images = false;
  answer: Answer = async function* () {
    yield { type: 'text-delta', text: 'Yes.' };
    yield end;
  };
  executor: Executor = { execute: vi.fn(nothing) };
  seen: Parameters<Answer>[0][] = [];
  responses!: Responses;
  a2a!: A2aServer;
  #server!: RunningServer;

  async start(): Promise<this> {
    const logger = createLogger({ name: 'test', destination: { write: () => undefined } });
    this.responses = new Responses(join(this.#home.path, 'responses.db'), () => this.now);
    this.a2a = createA2aServer({
      directory: this.#home.path,
      executor: this.responses.runningTasksOf(this.executor),
      card: () => ({ name: 'toy', description: 'A toy.', version: '1', publicUrl: 'http://toy', skills: [] }),
      quotaBytes: this.quotaBytes,
      keptBesides: (owner) => this.responses.bytesOf(owner),
      push: false,
      warnWhenOpen: false,
      logger,
    });
    const app = createApp({
      service: 'test',
      logger,
      version: '1',
      description: 'test',
      renderError: (error) => ({ body: openAiErrorBody(error) }),
      health: () => ({ status: 200, body: {} }),
    });
    app.use('/v1/*', async (context, next) => {
      const name = context.req.header('authorization')?.replace('Bearer ', '') ?? '';
      context.set('principal', personOf(name));
      await next();
    });
    mountOpenAiApi(app, {
      ownedBy: 'test',
      models: () => ['toy'],
      findModel: (id) =>
        id === 'toy'
          ? (call) => {
              this.seen.push(call);
              return this.answer(call);
            }
          : undefined,
      defaultModel: () => 'toy',
      isSummarising: this.isSummarising,
      images: this.images,
      parameters: () => ['temperature', 'tools', 'tool_choice', 'max_completion_tokens'],
      responses: { kept: this.responses, engine: this.a2a.engine, countTokens: (text) => text.length },
    });
    this.#server = await serve(app, { host: '127.0.0.1', port: 0, portVariable: 'PORT', logger });
    return this;
  }

  client(name = 'ada'): OpenAI {
    return new OpenAI({ baseURL: `${this.#server.url}/v1`, apiKey: name, maxRetries: 0 });
  }

  async stop(): Promise<void> {
    await this.#server.stop();
    this.a2a.stop();
    // Services stop other things between the two, so answers end before the file is closed.
    await macrotask();
    this.responses.close();
  }

  remove(): void {
    this.#home.remove();
  }
}

async function* nothing(): AsyncGenerator<never> {
  // A task that is done at once.
}

function personOf(name: string): Principal {
  return accountPrincipal(name, 'member');
}

const end: AnswerEvent = {
  type: 'end',
  finishReason: 'stop',
  usage: { inputTokens: 3, outputTokens: 4 },
};
const weather = {
  type: 'function' as const,
  name: 'weather',
  parameters: { type: 'object', properties: { city: { type: 'string' } } },
  strict: false,
};

let toy: Toy;
afterEach(async () => {
  await toy.stop();
  toy.remove();
});

const refusal = (work: Promise<unknown>) =>
  work.then(
    () => undefined,
    (error: unknown) => error as APIError,
  );

describe('a response', () => {
  it('comes whole, with thoughts, text and usage', async () => {
    toy = await new Toy().start();
    toy.answer = async function* () {
      yield { type: 'reasoning-delta', text: 'Hm.' };
      yield { type: 'text-delta', text: 'Four.' };
      yield end;
    };
    const response = await toy
      .client()
      .responses.create({ model: 'toy', input: '2+2?', metadata: { a: 'b' } });
    expect(response).toMatchObject({ object: 'response', status: 'completed', model: 'toy', error: null });
    expect(response.output_text).toBe('Four.');
    expect(response.output).toMatchObject([
      { type: 'reasoning', summary: [{ type: 'summary_text', text: 'Hm.' }] },
      { type: 'message', role: 'assistant', status: 'completed', content: [{ text: 'Four.' }] },
    ]);
    expect(response.usage).toMatchObject({ input_tokens: 3, output_tokens: 4, total_tokens: 7 });
    expect(response.usage).not.toHaveProperty('estimated');
    expect(response.metadata).toEqual({ a: 'b' });
    expect(toy.seen[0]?.request.messages).toEqual([{ role: 'user', content: '2+2?' }]);
    toy.answer = async function* () {
      yield { ...end, usage: { inputTokens: 3, outputTokens: 4, estimated: true } };
    };
    const guessed = await toy.client().responses.create({ model: 'toy', input: '2+2?' });
    expect(guessed.usage).toMatchObject({ total_tokens: 7, estimated: true });
  });

  it('streams its events in the published order, as the client puts them together again', async () => {
    toy = await new Toy().start();
    const call = {
      id: 'call_1',
      type: 'function' as const,
      function: { name: 'weather', arguments: '{"city":"Bern"}' },
    };
    toy.answer = async function* () {
      yield { type: 'reasoning-delta', text: 'Hm' };
      yield { type: 'reasoning-delta', text: '.' };
      yield { type: 'text-delta', text: 'I ' };
      yield { type: 'text-delta', text: 'look.' };
      yield { type: 'end', finishReason: 'tool_calls', toolCalls: [call] };
    };
    const stream = toy.client().responses.stream({ model: 'toy', input: 'Weather?', tools: [weather] });
    const events: { type: string; sequence_number: number }[] = [];
    for await (const event of stream) events.push(event);
    expect(events.map(({ type }) => type.replace('response.', ''))).toEqual([
      'created',
      'in_progress',
      'output_item.added',
      'reasoning_summary_part.added',
      'reasoning_summary_text.delta',
      'reasoning_summary_text.delta',
      'reasoning_summary_text.done',
      'reasoning_summary_part.done',
      'output_item.done',
      'output_item.added',
      'content_part.added',
      'output_text.delta',
      'output_text.delta',
      'output_text.done',
      'content_part.done',
      'output_item.done',
      'output_item.added',
      'function_call_arguments.delta',
      'function_call_arguments.done',
      'output_item.done',
      'completed',
    ]);
    expect(events.map(({ sequence_number }) => sequence_number)).toEqual(events.map((_, index) => index));
    const final = await stream.finalResponse();
    expect(final.output_text).toBe('I look.');
    expect(final.output.at(-1)).toMatchObject({
      type: 'function_call',
      call_id: 'call_1',
      name: 'weather',
      arguments: '{"city":"Bern"}',
    });
    expect((await toy.client().responses.retrieve(final.id)).output).toMatchObject(
      final.output.map(({ type, id }) => ({ type, id })),
    );
  });

  it('that ends early says why', async () => {
    toy = await new Toy().start();
    for (const [finishReason, reason] of [
      ['length', 'max_output_tokens'],
      ['content_filter', 'content_filter'],
    ] as const) {
      toy.answer = async function* () {
        yield { type: 'text-delta', text: 'Once' };
        yield { type: 'end', finishReason };
      };
      const response = await toy.client().responses.create({ input: 'Tell.', max_output_tokens: 5 });
      expect(response).toMatchObject({ status: 'incomplete', incomplete_details: { reason } });
      expect(response.output).toMatchObject([{ status: 'incomplete' }]);
      expect(toy.seen.at(-1)?.request.max_completion_tokens).toBe(5);
    }
  });

  it('that fails is an HTTP error before its first word, and an event after it', async () => {
    toy = await new Toy().start();
    const ask = { model: 'toy', input: 'Hi', stream: true } as const;
    toy.answer = async function* () {
      if (toy.seen.length > 0) throw new Error('secret cause');
      yield end;
    };
    for (const stream of [true, false]) {
      const early = await refusal(toy.client().responses.create({ ...ask, stream }));
      expect([early?.status, JSON.stringify(early).includes('secret')]).toEqual([500, false]);
    }
    toy.answer = async function* () {
      yield { type: 'text-delta', text: 'Once' };
      throw new Error('secret cause');
    };
    let last: unknown;
    for await (const event of await toy.client().responses.create(ask)) last = event;
    expect(last).toMatchObject({ type: 'response.failed', response: { status: 'failed' } });
    expect(JSON.stringify(last)).not.toContain('secret');
    const { id } = (last as { response: { id: string } }).response;
    expect(await toy.client().responses.retrieve(id)).toMatchObject({
      status: 'failed',
      error: { code: 'server_error' },
      output: [{ status: 'incomplete', content: [{ text: 'Once' }] }],
    });
  });

  it('refuses by name what is not supported, and drops nothing in silence', async () => {
    toy = await new Toy().start();
    const refused: [param: string, body: object][] = [
      ['conversation', { conversation: 'conv_1', previous_response_id: 'resp_1' }],
      ['conversation', { conversation: 'conv_1', store: false }],
      ['prompt', { prompt: { id: 'p' } }],
      ['max_tool_calls', { max_tool_calls: 3 }],
      ['top_logprobs', { top_logprobs: 2 }],
      ['service_tier', { service_tier: 'flex' }],
      ['tools', { tools: [{ type: 'file_search', vector_store_ids: ['v'] }] }],
      ['tools', { tools: [{ type: 'function' }] }],
      ['tools', { tools: [{ type: 'namespace', tools: [weather] }] }],
      ['tools', { tools: [{ type: 'namespace', name: 'inner', tools: [weather, { type: 'mcp' }] }] }],
      ['tools', { input: [{ type: 'additional_tools', role: 'developer', tools: [{ type: 'mcp' }] }] }],
      ['tool_choice', { tool_choice: { type: 'web_search' } }],
      ['include', { include: ['message.output_text.logprobs'] }],
      ['background', { background: true, store: false }],
      ['reasoning.effort', { reasoning: { effort: 'low' } }],
      ['text.verbosity', { text: { verbosity: 'low' } }],
      ['parallel_tool_calls', { parallel_tool_calls: false }],
      ['input', { input: [{ role: 'user', content: [{ type: 'input_file', file_id: 'f' }] }] }],
      ...[{ input_audio: {} }, { input_audio: null }, { input_audio: { data: 'AA==', format: 1 } }].map(
        (sound): [string, object] => [
          'input',
          { input: [{ role: 'user', content: [{ type: 'input_audio', ...sound }] }] },
        ],
      ),
      [
        'input',
        {
          input: [{ role: 'user', content: [{ type: 'input_file', file_data: 'AA==', filename: 7 }] }],
        },
      ],
      ['input', { input: [{ type: 'computer_call_output', call_id: 'x', output: 'y' }] }],
      ['temperature', { temperature: 'hot' }],
      ['previous_response_id', { previous_response_id: 'resp_0' }],
    ];
    for (const [param, more] of refused) {
      const body = {
        model: 'toy',
        input: 'Hi',
        ...more,
      } as OpenAI.Responses.ResponseCreateParamsNonStreaming;
      const error = await refusal(toy.client().responses.create(body));
      expect([error?.status, error?.param], JSON.stringify(more)).toEqual([400, param]);
    }
    const image = [
      { type: 'input_image' as const, image_url: 'data:image/png;base64,AA==', detail: 'auto' as const },
    ];
    const seen = await refusal(toy.client().responses.create({ input: [{ role: 'user', content: image }] }));
    expect(seen?.message).toContain('image');
    expect(toy.seen).toEqual([]);
    const { data, response } = await toy
      .client()
      .responses.create({
        input: 'Hi',
        prompt_cache_key: 'k',
        include: ['reasoning.encrypted_content'],
        top_p: 0.5,
      })
      .withResponse();
    expect(response.headers.get('x-ignored-parameters')).toBe('prompt_cache_key, include, top_p');
    expect(data).toMatchObject({ ignored_parameters: ['prompt_cache_key', 'include', 'top_p'] });
  });
});

describe('tools of the caller', () => {
  const patch = {
    type: 'custom' as const,
    name: 'apply_patch',
    description: 'Changes files.',
    format: { type: 'grammar' as const, syntax: 'lark' as const, definition: 'start: "*** Begin"' },
  };
  const files = {
    type: 'namespace' as const,
    name: 'files',
    description: 'Files of the person.',
    tools: [{ type: 'function' as const, name: 'read', parameters: { type: 'object' } }, patch],
  };
  const call = (id: string, name: string, given: string): ToolCall => ({
    id,
    type: 'function',
    function: { name, arguments: given },
  });
  const calling = (...toolCalls: ToolCall[]): Answer =>
    async function* () {
      yield { ...end, finishReason: 'tool_calls', toolCalls };
    };

  // As Codex does: most of its tools are in namespaces, and the newest models get theirs as an item of the input.
  it('may be in namespaces, take text, and come as an item of the input', async () => {
    toy = await new Toy().start();
    toy.answer = calling(
      call('c1', 'files__read', '{"path":"a"}'),
      call('c2', 'files__apply_patch', '{"input":"*** Begin"}'),
      call('c3', 'exec', '"ls"'),
      call('c4', 'exec', 'ls -l'),
      call('c5', 'weather', '{}'),
    );
    const exec = { type: 'custom' as const, name: 'exec' };
    const body = {
      model: 'toy',
      store: false,
      tools: [weather, files],
      input: [
        { type: 'additional_tools' as const, role: 'developer' as const, tools: [exec] },
        { role: 'user' as const, content: 'Change a.' },
      ],
    };
    const expected = [
      { type: 'function_call', namespace: 'files', name: 'read', call_id: 'c1', arguments: '{"path":"a"}' },
      {
        type: 'custom_tool_call',
        namespace: 'files',
        name: 'apply_patch',
        call_id: 'c2',
        input: '*** Begin',
      },
      { type: 'custom_tool_call', name: 'exec', call_id: 'c3', input: 'ls' },
      { type: 'custom_tool_call', name: 'exec', call_id: 'c4', input: 'ls -l' },
      { type: 'function_call', name: 'weather', call_id: 'c5', arguments: '{}' },
    ];
    const { responses } = toy.client();
    const whole = await responses.create(body);
    expect(whole.output).toMatchObject(expected);
    expect(whole.output[2]).not.toHaveProperty('namespace');
    const given: string[] = [];
    const stream = responses.stream(body);
    stream.on('event', (event) => {
      if (event.type === 'response.custom_tool_call_input.done') given.push(event.input);
      if (event.type === 'response.output_item.added' && event.item.type === 'custom_tool_call')
        expect(event.item.input).toBe('');
    });
    expect((await stream.finalResponse()).output).toMatchObject(expected);
    expect(given).toEqual(['*** Begin', 'ls', 'ls -l']);

    const functions = toy.seen[0]?.request.tools?.map((tool) => tool.function) ?? [];
    expect(functions.map(({ name }) => name)).toEqual([
      'weather',
      'files__read',
      'files__apply_patch',
      'exec',
    ]);
    const [, read, change] = functions;
    expect(read).toMatchObject({
      description: 'files: Files of the person.',
      parameters: { type: 'object' },
    });
    expect(change?.description).toBe('Changes files.\n\nThe text follows this grammar:\nstart: "*** Begin"');
    expect(change?.parameters).toMatchObject({
      properties: { input: { type: 'string' } },
      required: ['input'],
    });
    expect(toy.seen[0]?.request.messages).toEqual([{ role: 'user', content: 'Change a.' }]);
  });

  it('are answered by items of their kind, with pictures, also by previous_response_id', async () => {
    toy = new Toy();
    toy.images = true;
    await toy.start();
    toy.answer = calling(call('c1', 'files__apply_patch', '{"input":"p"}'), call('c2', 'files__read', '{}'));
    const { responses } = toy.client();
    const first = await responses.create({ model: 'toy', input: 'Change a.', tools: [files] });
    const image_url = 'data:image/png;base64,AAAA';
    const results = [
      { type: 'custom_tool_call_output' as const, call_id: 'c1', output: 'Done' },
      {
        type: 'function_call_output' as const,
        call_id: 'c2',
        output: [
          { type: 'input_text' as const, text: 'A picture' },
          { type: 'input_image' as const, image_url, detail: 'auto' as const },
        ],
      },
    ];
    await responses.create({ model: 'toy', previous_response_id: first.id, input: results, tools: [files] });
    const inline = [{ role: 'user' as const, content: 'Change a.' }, ...first.output, ...results];
    await responses.create({ model: 'toy', input: inline as OpenAI.Responses.ResponseInput, tools: [files] });
    for (const { request } of toy.seen.slice(1))
      expect(request.messages.slice(1)).toMatchObject([
        {
          role: 'assistant',
          tool_calls: [
            { id: 'c1', function: { name: 'files__apply_patch', arguments: '{"input":"p"}' } },
            { id: 'c2', function: { name: 'files__read', arguments: '{}' } },
          ],
        },
        { role: 'tool', tool_call_id: 'c1', content: 'Done' },
        {
          role: 'tool',
          tool_call_id: 'c2',
          content: [
            { type: 'text', text: 'A picture' },
            { type: 'image_url', image_url: { url: image_url } },
          ],
        },
      ]);
  });

  it('are chosen by name, and allowed_tools leaves some out', async () => {
    toy = await new Toy().start();
    const ask = async (tool_choice: object) => {
      const body = { model: 'toy', input: 'Hi', tools: [weather, files], tool_choice };
      await toy.client().responses.create(body as OpenAI.Responses.ResponseCreateParamsNonStreaming);
      const { tools, tool_choice: choice } = toy.seen.at(-1)?.request ?? {};
      return [tools?.map((tool) => tool.function.name), choice];
    };
    const all = ['weather', 'files__read', 'files__apply_patch'];
    const chosen = (name: string) => ({ type: 'function', function: { name } });
    expect(await ask({ type: 'custom', name: 'apply_patch' })).toEqual([all, chosen('files__apply_patch')]);
    expect(await ask({ type: 'function', name: 'weather' })).toEqual([all, chosen('weather')]);
    const tools = [
      { type: 'function', name: 'weather' },
      { type: 'custom', name: 'apply_patch' },
    ];
    expect(await ask({ type: 'allowed_tools', mode: 'required', tools })).toEqual([
      ['weather', 'files__apply_patch'],
      'required',
    ]);
  });

  it('have names that models take, however long that of the namespace is', async () => {
    toy = await new Toy().start();
    const name = 'mcp__a_server_with_quite_a_long_name_that_somebody_gave_it__';
    const tools = ['read_text_of_file', 'read_text_of_files'].map((each) => ({
      type: 'function' as const,
      name: each,
    }));
    await toy.client().responses.create({
      input: 'Hi',
      tools: [{ type: 'namespace', name, description: '', tools }],
    });
    const names = toy.seen[0]?.request.tools?.map((tool) => tool.function.name) ?? [];
    expect(new Set(names).size).toBe(2);
    for (const each of names) expect(each).toMatch(/^mcp__a_server_with[a-z_]+_[0-9a-f]{8}$/);
    expect(names.map((each) => each.length)).toEqual([64, 64]);
    toy.answer = calling(call('c1', names[1] ?? '', '{}'));
    const { output } = await toy.client().responses.create({
      input: 'Hi',
      tools: [{ type: 'namespace', name, description: '', tools }],
    });
    expect(output).toMatchObject([{ namespace: name, name: 'read_text_of_files' }]);
  });

  it('are looked up once, however often a request names them, and refused where they are too many', async () => {
    toy = await new Toy().start();
    const tools = Array.from({ length: 1024 }, (_, index) => ({
      ...{ type: 'function' as const, name: `t${index}`, parameters: {}, strict: null },
    }));
    // Each tool fifteen times: a search for each would look at fifteen million.
    const named = Array.from({ length: 15 }, () =>
      tools.map(({ name }) => ({ type: 'function', name })),
    ).flat();
    const choice = {
      type: 'allowed_tools' as const,
      mode: 'auto' as const,
      tools: [...named, { type: 'function', name: 'other' }],
    };
    await toy.client().responses.create({ input: 'Hi', tools, tool_choice: choice });
    expect(toy.seen[0]?.request.tools).toHaveLength(1024);
    const more = { type: 'namespace' as const, name: 'more', description: '', tools: tools.slice(0, 1) };
    const refused = await refusal(toy.client().responses.create({ input: 'Hi', tools: [...tools, more] }));
    expect([refused?.status, refused?.message]).toEqual([400, expect.stringContaining('at most 1024 tools')]);
    const chat = toy.client().chat.completions.create({
      model: 'toy',
      messages: [{ role: 'user', content: 'Hi' }],
      tools: [...tools, ...tools].map(({ name }) => ({ type: 'function', function: { name } })),
    });
    expect((await refusal(chat))?.message).toContain('at most 1024 tools');
  });

  it('may be called many times in a row by the conversation', async () => {
    toy = await new Toy().start();
    const calls = Array.from({ length: 9_000 }, (_, index) => ({
      ...{ type: 'function_call' as const, call_id: `c${index}`, name: 'weather', arguments: '{}' },
    }));
    await toy.client().responses.create({ input: [{ role: 'assistant', content: 'I look.' }, ...calls] });
    expect(toy.seen[0]?.request.messages[0]?.tool_calls).toHaveLength(9_000);
  });

  it('may hold a search of the web, which the answer says is not given', async () => {
    toy = await new Toy().start();
    const { data, response } = await toy
      .client()
      .responses.create({
        input: [
          { role: 'user', content: 'Hi' },
          {
            type: 'web_search_call',
            id: 'ws_1',
            status: 'completed',
            action: { type: 'search', query: 'x', queries: ['x'] },
          },
          { role: 'assistant', content: 'Found.' },
          { role: 'user', content: 'And?' },
        ],
        tools: [weather, { type: 'web_search' }, { type: 'web_search_preview_2025_03_11' }],
        include: ['web_search_call.action.sources'],
      })
      .withResponse();
    expect(response.headers.get('x-ignored-parameters')).toBe('tools[1], tools[2], include');
    expect(data.output_text).toBe('Yes.');
    expect(toy.seen[0]?.request.tools).toHaveLength(1);
    expect(toy.seen[0]?.request.messages).toHaveLength(3);
  });
});

describe('a stored response', () => {
  it('is continued by previous_response_id and by references to its items', async () => {
    toy = await new Toy().start();
    const { responses } = toy.client();
    const calls = [
      { id: 'call_1', type: 'function' as const, function: { name: 'weather', arguments: '{}' } },
    ];
    toy.answer = async function* () {
      yield { type: 'text-delta', text: 'I look.' };
      yield { type: 'end', finishReason: 'tool_calls', toolCalls: calls };
    };
    const first = await responses.create({ input: 'Weather?', instructions: 'Be brief.', tools: [weather] });
    toy.answer = async function* () {
      yield { type: 'text-delta', text: 'Sun.' };
      yield end;
    };
    const result = { type: 'function_call_output' as const, call_id: 'call_1', output: 'sun' };
    const second = await responses.create({ input: [result], previous_response_id: first.id });
    const told = [
      { role: 'user', content: 'Weather?' },
      { role: 'assistant', content: 'I look.', tool_calls: calls },
      { role: 'tool', tool_call_id: 'call_1', content: 'sun' },
    ];
    // Instructions count for one response alone.
    expect(toy.seen.at(-1)?.request.messages).toEqual(told);
    await responses.create({ input: 'Thanks', previous_response_id: second.id });
    expect(toy.seen.at(-1)?.request.messages).toEqual([
      ...told,
      { role: 'assistant', content: 'Sun.' },
      { role: 'user', content: 'Thanks' },
    ]);
    const references = first.output.map(({ id }) => ({ type: 'item_reference' as const, id: id ?? '' }));
    await responses.create({ input: [{ role: 'user', content: 'Weather?' }, ...references, result] });
    expect(toy.seen.at(-1)?.request.messages).toEqual(told);
  });

  it('belongs to whoever asked, and is there until it is deleted or expires', async () => {
    toy = await new Toy().start();
    const ada = toy.client('ada').responses;
    const eve = toy.client('eve').responses;
    const { id, output } = await ada.create({
      input: [
        { role: 'user', content: 'One' },
        { role: 'user', content: 'Two' },
      ],
    });
    for (const work of [eve.retrieve(id), eve.delete(id), eve.cancel(id), eve.inputItems.list(id)])
      expect((await refusal(work as Promise<unknown>))?.status).toBe(404);
    for (const more of [
      { previous_response_id: id },
      { input: [{ type: 'item_reference' as const, id: output[0]?.id ?? '' }] },
    ])
      expect((await refusal(eve.create({ input: 'Go on', ...more })))?.status).toBe(400);
    const pages: string[] = [];
    for await (const item of ada.inputItems.list(id, { limit: 1, order: 'asc' }))
      pages.push(JSON.stringify(item));
    expect(pages).toEqual([expect.stringContaining('One'), expect.stringContaining('Two')]);
    const lost = await refusal(ada.inputItems.list(id, { after: 'msg_0' }) as Promise<unknown>);
    expect([lost?.status, lost?.param]).toEqual([400, 'after']);
    const other = await ada.create({ input: 'Three' });
    await ada.delete(other.id);
    expect((await refusal(ada.retrieve(other.id)))?.status).toBe(404);
    const unstored = await ada.create({ input: 'Four', store: false });
    expect((await refusal(ada.retrieve(unstored.id)))?.status).toBe(404);
    toy.now += 31 * 24 * 60 * 60 * 1000;
    expect((await refusal(ada.retrieve(id)))?.status).toBe(404);
    expect((await refusal(ada.create({ input: 'On', previous_response_id: id })))?.code).toBe(
      'previous_response_not_found',
    );
  });

  it('says after a restart that it was drawn from outside, to whoever continues it', async () => {
    toy = await new Toy().start();
    const calls = [
      { id: 'call_1', type: 'function' as const, function: { name: 'weather', arguments: '{}' } },
    ];
    toy.answer = async function* () {
      yield { type: 'reasoning-delta', text: 'Hm.' };
      yield { type: 'text-delta', text: 'The page says so.' };
      yield { type: 'end', finishReason: 'tool_calls', toolCalls: calls, isOutside: true };
    };
    const { id, output } = await toy.client().responses.create({ input: 'Look', tools: [weather] });
    expect(JSON.stringify(await toy.client().responses.retrieve(id))).not.toContain('outside');
    await toy.stop();
    await toy.start();
    const result = { type: 'function_call_output' as const, call_id: 'call_1', output: 'sun' };
    const references = output.map((item) => ({ type: 'item_reference' as const, id: item.id ?? '' }));
    for (const more of [
      { input: [result], previous_response_id: id },
      { input: [{ role: 'user' as const, content: 'Look' }, ...references, result] },
    ]) {
      await toy.client().responses.create(more);
      const answers = toy.seen.at(-1)?.request.messages.filter(({ role }) => role === 'assistant');
      expect(answers).toEqual([
        { role: 'assistant', content: 'The page says so.', tool_calls: calls, outside: true },
      ]);
    }
  });

  it('counts on the quota of whoever asks, and is refused where it would not fit', async () => {
    toy = new Toy();
    toy.quotaBytes = 5000;
    await toy.start();
    const { responses } = toy.client();
    await responses.create({ input: 'Hi' });
    const long = 'x'.repeat(6000);
    for (const stream of [false, true])
      expect((await refusal(responses.create({ input: long, stream })))?.code).toBe('insufficient_quota');
    expect((await responses.create({ input: long, store: false })).output_text).toBe('Yes.');
  });

  it('makes room for newer ones of its owner', async () => {
    toy = await new Toy().start();
    const { store } = toy.responses;
    const principal = personOf('ada');
    const body = (number: number) => ({ id: `resp_${number}`, status: 'completed' as const, output: [] });
    await store.save(body(-1), { input: [], principal: personOf('bob'), isOutside: false });
    for (let number = 0; number < 501; number += 1) {
      toy.now += 1;
      await store.save(body(number), { input: [], principal, isOutside: false });
    }
    const kept = [0, 1, 500].map((number) => store.find(`resp_${number}`, principal) !== undefined);
    expect(kept).toEqual([false, true, true]);
    expect(store.find('resp_-1', personOf('bob'))).toBeDefined();
    const [adas, bobs] = ['ada', 'bob'].map((name) => toy.responses.bytesOf(ownerKey(personOf(name))));
    expect(bobs).toBeGreaterThan(0);
    expect(adas).toBeGreaterThan(400 * (bobs ?? 0));
  });
});

it('names the pages that an answer is drawn from, as the client knows them', async () => {
  toy = await new Toy().start();
  const page = { url: 'https://nodejs.org/', title: 'Node.js' };
  toy.answer = async function* () {
    yield { type: 'text-delta', text: 'It is 24.' };
    yield { type: 'citation', citation: { ...page, start: 0, end: 9 } };
    yield { type: 'citation', citation: { url: 'https://a.example/' } };
    yield end;
  };
  const { responses, chat } = toy.client();
  const wanted = [
    { type: 'url_citation', ...page, start_index: 0, end_index: 9 },
    {
      type: 'url_citation',
      url: 'https://a.example/',
      title: 'https://a.example/',
      start_index: 0,
      end_index: 9,
    },
  ];
  const { output } = await responses.create({ input: 'Which?' });
  expect(output).toMatchObject([{ content: [{ type: 'output_text', annotations: wanted }] }]);
  const stream = responses.stream({ input: 'Which?' });
  const added: unknown[] = [];
  stream.on('response.output_text.annotation.added', ({ annotation }) => added.push(annotation));
  expect((await stream.finalResponse()).output).toMatchObject([{ content: [{ annotations: wanted }] }]);
  expect(added).toEqual(wanted);
  const messages = [{ role: 'user' as const, content: 'Which?' }];
  const { choices } = await chat.completions.create({ model: 'toy', messages });
  const cited = wanted.map(({ type, ...url_citation }) => ({ type, url_citation }));
  expect(choices[0]?.message.annotations).toEqual(cited);
  const streamed: unknown[] = [];
  for await (const chunk of await chat.completions.create({ model: 'toy', messages, stream: true })) {
    const { annotations = [] } = (chunk.choices[0]?.delta ?? {}) as { annotations?: unknown[] };
    streamed.push(...annotations);
  }
  expect(streamed).toEqual(cited);
});

it('gives the places of a citation in the message that has them', async () => {
  toy = await new Toy().start();
  const citation = { url: 'https://nodejs.org/', title: 'Node.js' };
  toy.answer = async function* () {
    yield { type: 'text-delta', text: 'Let me look.' };
    yield { type: 'reasoning-delta', text: 'Hm.' };
    yield { type: 'text-delta', text: 'It is 24.' };
    yield { type: 'citation', citation: { ...citation, start: 18, end: 20 } };
    yield { type: 'citation', citation: { ...citation, start: 0, end: 3 } };
    yield { type: 'citation', citation: { ...citation, start: 18, end: 90 } };
    yield end;
  };
  const { responses } = toy.client();
  const placed = (start_index: number, end_index: number) => ({
    type: 'url_citation',
    ...citation,
    start_index,
    end_index,
  });
  const wanted = [
    { content: [{ text: 'Let me look.', annotations: [placed(0, 3)] }] },
    { type: 'reasoning' },
    { content: [{ text: 'It is 24.', annotations: [placed(6, 8), placed(0, 9)] }] },
  ];
  expect((await responses.create({ input: 'Which?' })).output).toMatchObject(wanted);
  const stream = responses.stream({ input: 'Which?' });
  const added: unknown[] = [];
  stream.on('response.output_text.annotation.added', ({ annotation }) => added.push(annotation));
  expect((await stream.finalResponse()).output).toMatchObject(wanted);
  expect(added).toEqual([placed(6, 8), placed(0, 9)]);
});

describe('a conversation', () => {
  const said = () => toy.seen.at(-1)?.request.messages.map(({ role, content }) => `${role}: ${content}`);

  it('holds what responses that name it were asked and answered, also after a restart', async () => {
    toy = await new Toy().start();
    toy.answer = async function* () {
      yield { type: 'text-delta', text: 'The page says four.' };
      yield { ...end, isOutside: true };
    };
    const { id, metadata } = await toy.client().conversations.create({
      metadata: { topic: 'sums' },
      items: [{ role: 'user', content: 'I count in tens.' }],
    });
    expect(metadata).toEqual({ topic: 'sums' });
    const first = await toy.client().responses.create({ input: 'What is 2+2?', conversation: id });
    expect(first.conversation).toEqual({ id });
    await toy.stop();
    await toy.start();
    const client = toy.client();
    const stream = await client.responses.create({ input: 'Sure?', conversation: { id }, stream: true });
    for await (const _ of stream);
    expect(said()).toEqual([
      'user: I count in tens.',
      'user: What is 2+2?',
      'assistant: The page says four.',
      'user: Sure?',
    ]);
    expect(toy.seen.at(-1)?.request.messages[2]).toMatchObject({ outside: true });
    const roles: unknown[] = [];
    for await (const item of client.conversations.items.list(id, { limit: 2, order: 'asc' })) {
      expect(JSON.stringify(item)).not.toContain('outside');
      roles.push(item.type === 'message' && item.role);
    }
    expect(roles).toEqual(['user', 'user', 'assistant', 'user', 'assistant']);
    const refused = await refusal(client.responses.create({ input: 'x', previous_response_id: first.id }));
    expect(refused?.message).toContain(id);
  });

  it('takes a background response when it has ended', async () => {
    toy = await new Toy().start();
    const client = toy.client();
    const { id } = await client.conversations.create({});
    await client.responses.create({ input: 'Hi', conversation: id, background: true });
    await expect
      .poll(async () => (await client.conversations.items.list(id)).data.map(({ type }) => type))
      .toEqual(['message', 'message']);
  });

  it('is changed and deleted, item by item, by its owner alone', async () => {
    toy = await new Toy().start();
    const { conversations, responses } = toy.client();
    const { id } = await conversations.create({});
    expect(await conversations.update(id, { metadata: { a: 'b' } })).toMatchObject({
      id,
      metadata: { a: 'b' },
    });
    const { data } = await conversations.items.create(id, {
      items: [
        { role: 'user', content: 'One' },
        { role: 'assistant', content: 'Two' },
      ],
    });
    const item = data[0]?.id ?? '';
    expect(await conversations.items.retrieve(item, { conversation_id: id })).toMatchObject({ role: 'user' });
    await conversations.items.delete(item, { conversation_id: id });
    expect((await refusal(conversations.items.retrieve(item, { conversation_id: id })))?.status).toBe(404);
    const other = toy.client('bob');
    const tried = await Promise.all([
      refusal(other.conversations.retrieve(id)),
      refusal(other.conversations.items.list(id)),
      refusal(other.conversations.delete(id)),
      refusal(other.responses.create({ input: 'Hi', conversation: id })),
    ]);
    expect(tried.map((error) => error?.status)).toEqual([404, 404, 404, 404]);
    await responses.create({ input: 'Go on', conversation: id });
    expect(said()).toEqual(['assistant: Two', 'user: Go on']);
    expect(toy.responses.bytesOf(ownerKey(personOf('ada')))).toBeGreaterThan(0);
    expect(await conversations.delete(id)).toMatchObject({ id, deleted: true });
    expect((await refusal(conversations.retrieve(id)))?.status).toBe(404);
  });

  it('refuses other words under an id that it has, and finds its items by reference', async () => {
    toy = await new Toy().start();
    const { conversations, responses } = toy.client();
    const first = { type: 'message', id: 'msg_1', role: 'user', content: 'My name is Ada' } as const;
    const { id } = await conversations.create({ items: [first] });
    const changed = { ...first, content: 'My name is Bob' };
    for (const wrong of [
      refusal(conversations.items.create(id, { items: [changed as never] })),
      refusal(responses.create({ input: [changed as never], conversation: id })),
      refusal(
        conversations.items.create(id, {
          items: [{ ...changed, id: 'x' } as never, { ...first, id: 'x' } as never],
        }),
      ),
    ])
      expect(await wrong).toMatchObject({ status: 400, message: expect.stringContaining('leave ids out') });
    // What clients were given they may send back.
    await conversations.items.create(id, { items: [first] });
    expect((await conversations.items.list(id)).data).toHaveLength(1);
    const other = await conversations.create({});
    await conversations.items.create(other.id, { items: [{ type: 'item_reference', id: 'msg_1' } as never] });
    expect(JSON.stringify((await conversations.items.list(other.id)).data)).toContain('My name is Ada');
    const stranger = toy.client('bob');
    const reference = { type: 'item_reference', id: 'msg_1' } as const;
    expect((await refusal(stranger.responses.create({ input: [reference] })))?.status).toBe(400);
  });

  it('has its own item of an id that another has too; without a conversation the id says nothing', async () => {
    toy = await new Toy().start();
    const { conversations, responses } = toy.client();
    const reference = { type: 'item_reference', id: 'msg_1' } as const;
    const named = async (name: string) => {
      const item = { type: 'message', id: 'msg_1', role: 'user', content: `I am ${name}` };
      return (await conversations.create({ items: [item as never] })).id;
    };
    const [, bobs] = [await named('Ada'), await named('Bob')];
    await responses.create({ input: [reference, { role: 'user', content: 'Hi' }], conversation: bobs });
    // Nor is what it has said twice.
    expect(said()).toEqual(['user: I am Bob', 'user: Hi']);
    const { data } = await conversations.items.list(bobs, { order: 'asc' });
    await responses.create({
      input: [...(data as never[]), { role: 'user', content: 'Sure?' }],
      conversation: bobs,
    });
    expect(said()).toEqual(['user: I am Bob', 'user: Hi', 'assistant: Yes.', 'user: Sure?']);
    expect(await refusal(responses.create({ input: [reference] }))).toMatchObject({
      status: 400,
      message: expect.stringContaining('several conversations have an item "msg_1"'),
    });
  });

  it('that takes no more says so before a turn runs', async () => {
    toy = await new Toy().start();
    const { conversations, responses } = toy.client();
    const { id } = await conversations.create({});
    const many = Array.from({ length: 2001 }, () => ({ role: 'user' as const, content: 'Hi' }));
    const before = toy.seen.length;
    expect(await refusal(responses.create({ input: many, conversation: id }))).toMatchObject({
      status: 400,
      message: expect.stringContaining('The conversation is full'),
    });
    expect(toy.seen).toHaveLength(before);
  });
});

it('counts the tokens of a request with what was said before', async () => {
  toy = await new Toy().start();
  const { responses, conversations } = toy.client();
  const count = async (body: Parameters<typeof responses.inputTokens.count>[0]) =>
    (await responses.inputTokens.count(body)).input_tokens;
  // The toy counts letters, and each message has four more.
  expect(await count({ input: 'Hello' })).toBe(9);
  expect(await count({ input: 'Hello', instructions: 'Be brief' })).toBe(21);
  const { id } = await conversations.create({ items: [{ role: 'user', content: 'Before' }] });
  expect(await count({ input: 'Hello', conversation: id })).toBe(19);
  expect(await count({ input: 'Hello', tools: [weather] })).toBe(9 + JSON.stringify(weather).length);
  expect(toy.seen).toEqual([]);
});

describe('a background response', () => {
  const slow = () => {
    const { promise: word, resolve: speak } = Promise.withResolvers<void>();
    const ended = Promise.withResolvers<void>();
    toy.answer = async function* ({ signal }) {
      try {
        yield { type: 'text-delta', text: 'Wait' };
        await Promise.race([word, new Promise((_, reject) => signal.addEventListener('abort', reject))]);
        yield { type: 'text-delta', text: ' for it.' };
        yield end;
      } finally {
        ended.resolve();
      }
    };
    return { speak, ended: ended.promise };
  };
  const until = (id: string, status: string) =>
    expect.poll(async () => (await toy.client().responses.retrieve(id)).status).toBe(status);

  it('goes on as a task that its owner sees, and can be followed from any event', async () => {
    toy = await new Toy().start();
    const { speak } = slow();
    const { responses } = toy.client();
    const response = await responses.create({ input: 'Take your time', background: true });
    expect(response).toMatchObject({
      status: expect.stringMatching(/^(queued|in_progress)$/),
      background: true,
    });
    await until(response.id, 'in_progress');
    const taskId = (response as { task_id?: string }).task_id ?? '';
    expect(toy.a2a.engine.for(personOf('ada')).get(taskId)).toMatchObject({ state: 'working' });
    expect(() => toy.a2a.engine.for(personOf('eve')).get(taskId)).toThrow();
    expect(
      (await refusal(responses.create({ input: 'On', previous_response_id: response.id })))?.status,
    ).toBe(400);
    const types: string[] = [];
    const stream = await responses.retrieve(response.id, { stream: true, starting_after: 2 });
    for await (const event of stream) {
      types.push(event.type.replace('response.', ''));
      if (event.type === 'response.output_text.delta') speak();
    }
    expect(types).toEqual([
      ...['output_item.added', 'content_part.added', 'output_text.delta', 'output_text.delta'],
      ...['output_text.done', 'content_part.done', 'output_item.done', 'completed'],
    ]);
    expect(await responses.retrieve(response.id)).toMatchObject({
      status: 'completed',
      output_text: 'Wait for it.',
    });
    const { state, artifacts, usage } = toy.a2a.engine.for(personOf('ada')).get(taskId);
    expect([state, JSON.stringify(artifacts).includes('Wait for it.'), usage?.totalTokens]).toEqual([
      'completed',
      true,
      7,
    ]);
    expect((await refusal(responses.retrieve(response.id, { stream: true })))?.status).toBe(400);
    expect(toy.executor.execute).not.toHaveBeenCalled();
  });

  it('keeps a bounded number of events of a long answer, of which no text is lost', async () => {
    toy = await new Toy().start();
    const words = Array.from({ length: 10_000 }, (_, index) => `${index} `);
    const { promise: isRead, resolve: finish } = Promise.withResolvers<void>();
    toy.answer = async function* () {
      for (const text of words) yield { type: 'text-delta', text };
      await isRead;
      yield end;
    };
    const { responses } = toy.client();
    const started = await responses.create({ input: 'Tell all', background: true, stream: true });
    const slow = started[Symbol.asyncIterator]();
    const { value: created } = await slow.next();
    if (created?.type !== 'response.created') throw new Error('The stream does not begin with the response.');
    const { id } = created.response;
    const read = async (stream: AsyncIterable<ResponseStreamEvent>) => {
      const texts: string[] = [];
      for await (const event of stream) {
        if (event.type === 'response.output_text.delta') texts.push(event.delta);
        if (texts.at(-1)?.endsWith(words.at(-1) ?? '')) finish();
      }
      return texts;
    };
    const follow = async (from: { starting_after?: number }) =>
      await read(await responses.retrieve(id, { stream: true, ...from }));
    await expect
      .poll(() => toy.responses.running(id)?.work.writer.body().output[0])
      .toMatchObject({ content: [{ text: words.join('') }] });
    // Number 10 is in the middle of what was joined.
    await expect(follow({ starting_after: 10 })).rejects.toThrow('without starting_after');
    const fromStart = await follow({});
    expect(fromStart.length).toBeLessThan(4100);
    for (const texts of [fromStart, await read({ [Symbol.asyncIterator]: () => slow })])
      expect(texts.join('')).toBe(words.join(''));
    expect(await responses.retrieve(id)).toMatchObject({ status: 'completed', output_text: words.join('') });
  });

  it('goes on when whoever reads its stream leaves', async () => {
    toy = await new Toy().start();
    const { speak } = slow();
    const stream = await toy.client().responses.create({ input: 'Go', background: true, stream: true });
    let id = '';
    for await (const event of stream) {
      if (event.type === 'response.created') id = event.response.id;
      if (event.type === 'response.output_text.delta') break;
    }
    speak();
    await until(id, 'completed');
  });

  it('is cancelled by either door, and by deleting it', async () => {
    toy = await new Toy().start();
    const { responses } = toy.client();
    const begin = async () => {
      const { ended } = slow();
      const response = await responses.create({ input: 'Go', background: true });
      await until(response.id, 'in_progress');
      return { id: response.id, taskId: (response as { task_id?: string }).task_id ?? '', ended };
    };
    const tasks = toy.a2a.engine.for(personOf('ada'));
    const first = await begin();
    expect(await responses.cancel(first.id)).toMatchObject({ status: 'cancelled' });
    await first.ended;
    expect(tasks.get(first.taskId).state).toBe('canceled');
    expect(await responses.cancel(first.id)).toMatchObject({ status: 'cancelled' });
    const second = await begin();
    tasks.cancel(second.taskId, true);
    await second.ended;
    await until(second.id, 'cancelled');
    const third = await begin();
    await responses.delete(third.id);
    await third.ended;
    expect(tasks.get(third.taskId).state).toBe('canceled');
    // What runs on must not store it again.
    await macrotask();
    expect((await refusal(responses.retrieve(third.id)))?.status).toBe(404);
    toy.answer = async function* () {
      yield end;
    };
    const plain = await responses.create({ input: 'Hi' });
    expect((await refusal(responses.cancel(plain.id)))?.status).toBe(400);
  });

  it('has failed after a restart, as its task has', async () => {
    toy = await new Toy().start();
    slow();
    const response = await toy.client().responses.create({ input: 'Go', background: true });
    await until(response.id, 'in_progress');
    await toy.stop();
    toy.executor = { execute: vi.fn(nothing), recover: vi.fn(() => ({ events: nothing() })) };
    await toy.start();
    expect(await toy.client().responses.retrieve(response.id)).toMatchObject({
      status: 'failed',
      error: { message: expect.stringContaining('restarted') },
    });
    const taskId = (response as { task_id?: string }).task_id ?? '';
    expect(toy.a2a.engine.for(personOf('ada')).get(taskId).state).toBe('failed');
    expect(toy.executor.recover).not.toHaveBeenCalled();
    // Services that share it are told, though they came to know of each other after the restart.
    const told: Parameters<Responses['take']>[0][] = [];
    toy.responses.onWrite(async (entry) => void told.push(entry));
    const [entry] = told;
    if (entry?.type !== 'response') throw new Error('nothing was told');
    const { row } = entry;
    expect([told.length, row.id, row.body.status]).toEqual([1, response.id, 'failed']);
    // Word of how it stood before comes late.
    toy.responses.take({ ...entry, row: { ...row, body: { ...row.body, status: 'in_progress' } } });
    expect((await toy.client().responses.retrieve(response.id)).status).toBe('failed');
  });

  it('leaves other tasks to the executor of the service', async () => {
    toy = await new Toy().start();
    const message = { messageId: 'm', role: 'user' as const, parts: [{ type: 'text' as const, text: 'Hi' }] };
    const tasks = toy.a2a.engine.for(personOf('ada'));
    const { live } = tasks.start({ message, metadata: { response_id: 'resp_1' }, strict: false });
    await expect.poll(() => tasks.get(live.id).state).toBe('completed');
    expect(toy.executor.execute).toHaveBeenCalledOnce();
  });
});

describe('a conversation that is shortened', () => {
  const hello = { role: 'user' as const, content: 'I am Ada.' };
  const summarising = async (more: Partial<Toy> = {}) => {
    toy = await Object.assign(new Toy(), more).start();
    const answer = toy.answer;
    toy.answer = async function* (call) {
      if (!call.isSummary) yield* answer(call);
      else {
        yield { type: 'text-delta', text: 'Ada said hello.' };
        yield { ...end, isOutside: true } as AnswerEvent;
      }
    };
    return toy.client().responses;
  };

  it('is the words of the person and a summary, which later requests take', async () => {
    const responses = await summarising();
    const first = await responses.create({ input: [hello] });
    const { output, object, usage } = await responses.compact({
      model: 'toy',
      previous_response_id: first.id,
      input: 'What next?',
      instructions: 'Be short.',
    });
    expect([object, usage.total_tokens]).toEqual(['response.compaction', 7]);
    expect(output).toMatchObject([
      { type: 'message', role: 'user', content: [{ text: 'I am Ada.' }] },
      { type: 'message', role: 'user', content: [{ text: 'What next?' }] },
      { type: 'compaction', encrypted_content: expect.not.stringContaining('Ada') },
    ]);
    const { messages } = toy.seen.at(-1)?.request ?? { messages: [] };
    expect(messages.slice(0, -1)).toEqual([
      { role: 'system', content: 'Be short.' },
      { role: 'user', content: 'I am Ada.' },
      { role: 'assistant', content: 'Yes.' },
      { role: 'user', content: 'What next?' },
    ]);
    expect(messages.at(-1)?.content).toMatch(/^Summarise the conversation above/);
    const summary = {
      role: 'assistant',
      content: 'Summary of the conversation so far:\nAda said hello.',
      // The mark is sealed with it: whoever keeps the summary cannot take it off.
      outside: true,
    };
    const input = [...output, { role: 'user', content: 'Who am I?' }] as OpenAI.Responses.ResponseInput;
    const second = await responses.create({ input });
    expect(toy.seen.at(-1)?.request.messages).toEqual([
      { role: 'user', content: 'I am Ada.' },
      { role: 'user', content: 'What next?' },
      summary,
      { role: 'user', content: 'Who am I?' },
    ]);
    await responses.create({ previous_response_id: second.id, input: 'And?' });
    expect(toy.seen.at(-1)?.request.messages).toContainEqual(summary);
    const { id } = await toy.client().conversations.create({ items: input });
    await responses.create({ conversation: id, input: 'Go on' });
    expect(toy.seen.at(-1)?.request.messages).toContainEqual(summary);
  });

  it("is its owner's alone, and nobody can change it", async () => {
    const responses = await summarising();
    const { output } = await responses.compact({ model: 'toy', input: [hello] });
    const item = output.at(-1) as { encrypted_content: string };
    const taken = (encrypted_content: string, name: string) =>
      refusal(toy.client(name).responses.create({ input: [{ type: 'compaction', encrypted_content }] }));
    expect((await taken(item.encrypted_content, 'bea'))?.message).toContain('compaction was not made here');
    const changed = `${item.encrypted_content.slice(0, -4)}AAAA`;
    expect((await taken(changed, 'ada'))?.status).toBe(400);
    expect((await taken('', 'ada'))?.status).toBe(400);
    expect(await taken(item.encrypted_content, 'ada')).toBeUndefined();
  });

  it('is refused by name where it cannot be', async () => {
    const responses = await summarising({ isSummarising: false });
    const refused = await refusal(responses.compact({ model: 'toy', input: [hello] }));
    expect([refused?.status, refused?.message]).toEqual([
      400,
      expect.stringContaining('compact is not supported'),
    ]);
    const nothingSaid = await refusal(responses.compact({ model: 'toy' }));
    expect(nothingSaid?.status).toBe(400);
  });

  it('is refused where the model gives no whole summary', async () => {
    const responses = await summarising();
    toy.answer = async function* () {
      yield { type: 'text-delta', text: 'Ada s' };
      yield { type: 'end', finishReason: 'length' };
    };
    expect((await refusal(responses.compact({ model: 'toy', input: [hello] })))?.status).toBe(502);
    expect((await refusal(responses.compact({ model: 'toy' })))?.message).toContain('nothing to shorten');
  });
});

it('says what to do where the conversation of an earlier response is gone', async () => {
  toy = await new Toy().start();
  const { responses, conversations } = toy.client();
  const { id } = await conversations.create();
  const first = await responses.create({ conversation: id, input: 'Hi' });
  const next = () => refusal(responses.create({ previous_response_id: first.id, input: 'And?' }));
  expect((await next())?.message).toContain(`name "${id}" as conversation`);
  await conversations.delete(id);
  expect((await next())?.message).toContain('send what was said as input');
});

it('gives pictures of the model as items, and takes them back', async () => {
  toy = await Object.assign(new Toy(), { images: true }).start();
  toy.answer = async function* () {
    yield { type: 'text-delta', text: 'Here.' };
    yield { type: 'image', mediaType: 'image/webp', base64: 'aGk=' };
    yield end;
  };
  const { responses } = toy.client();
  const events: string[] = [];
  const stream = await responses.create({ input: 'Draw', stream: true });
  let response: OpenAI.Responses.Response | undefined;
  for await (const event of stream) {
    events.push(event.type);
    if (event.type === 'response.completed') response = event.response;
  }
  expect(events.filter((type) => type.includes('image'))).toEqual([
    'response.image_generation_call.in_progress',
    'response.image_generation_call.completed',
  ]);
  const picture = {
    type: 'image_generation_call',
    status: 'completed',
    result: 'aGk=',
    output_format: 'webp',
  };
  expect(response?.output).toMatchObject([{ type: 'message' }, picture]);
  const seen = { type: 'image_url', image_url: { url: 'data:image/webp;base64,aGk=' } };
  await responses.create({ previous_response_id: response?.id ?? '', input: 'Bigger' });
  expect(JSON.stringify(toy.seen.at(-1)?.request.messages)).toContain(JSON.stringify(seen));
  const [, drawn] = response?.output ?? [];
  const byId = { type: 'image_generation_call', id: drawn?.id } as OpenAI.Responses.ResponseInputItem;
  await responses.create({ input: [byId, { role: 'user', content: 'Bigger' }] });
  expect(JSON.stringify(toy.seen.at(-1)?.request.messages)).toContain(JSON.stringify(seen));
});

it('knows every method of the client', async () => {
  toy = await new Toy().start();
  const { responses, conversations } = toy.client();
  const methodsOf = (resource: object) =>
    Object.getOwnPropertyNames(Object.getPrototypeOf(resource)).filter((name) => name !== 'constructor');
  // `parse` and `stream` are `create` with help of the client. Each of the others has a test in this file.
  expect(methodsOf(responses).sort()).toEqual(
    ['cancel', 'compact', 'create', 'delete', 'parse', 'retrieve', 'stream'].sort(),
  );
  expect(methodsOf(responses.inputItems)).toEqual(['list']);
  expect(methodsOf(responses.inputTokens)).toEqual(['count']);
  expect(methodsOf(conversations)).toEqual(['create', 'retrieve', 'update', 'delete']);
  expect(methodsOf(conversations.items)).toEqual(['create', 'retrieve', 'list', 'delete']);
  const parsed = await responses.parse({ input: 'Hi' });
  expect(parsed.output_text).toBe('Yes.');
  expect((await responses.stream({ input: 'Hi' }).finalResponse()).output_text).toBe('Yes.');
});
