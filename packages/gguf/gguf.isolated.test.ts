import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { createLogger } from '@trunkline/config';
import { freePort, temporaryDirectory, waitFor, writeTinyGguf } from '@trunkline/testing';
import OpenAI, { type APIError } from 'openai';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { describeModelFile, type ModelFileOptions, type OpenModelFile, openModelFile } from './index.ts';
import { ModelProcess } from './model-process.ts';

const home = temporaryDirectory();
const lines: string[] = [];
const logger = createLogger({ name: 'test', destination: { write: (line) => lines.push(line) } });
/** Longer than a client that was told to come again in a second takes on a busy machine. */
const idleMs = 5_000;
const silenceMs = 3_000;
let file: string;
let model: OpenModelFile;
let client: OpenAI;

function options(more: Partial<ModelFileOptions> = {}): ModelFileOptions {
  return {
    trunklineHome: home.path,
    llmGatewayUrl: undefined,
    llmModel: undefined,
    llmGguf: undefined,
    llmGgufContext: undefined,
    llmGgufSequences: 2,
    llmGgufThreads: 1,
    llmGgufIdleMinutes: 30,
    llmGgufPort: 0,
    ...more,
  };
}

async function open(more: Partial<ModelFileOptions> = {}, nodeFlags?: string[]): Promise<OpenModelFile> {
  const opened = await openModelFile(options(more), {
    ...{ logger, idleMs, silenceMs },
    ...(nodeFlags && { nodeFlags }),
  });
  if (opened === undefined) throw new Error('no model file was found');
  return opened;
}

/** OpenAI's client comes again while the door answers 503. */
function connect({ settings: { llmGatewayUrl, llmApiKey } }: OpenModelFile, maxRetries = 60): OpenAI {
  return new OpenAI({ baseURL: llmGatewayUrl, apiKey: llmApiKey, maxRetries });
}

const says = (content: string) => ({ role: 'user' as const, content });
const calculator = {
  type: 'function' as const,
  function: {
    name: 'calculator',
    description: 'Does sums.',
    parameters: {
      type: 'object',
      properties: { expression: { type: 'string' }, digits: { type: 'integer', description: 'Optional.' } },
      required: ['expression'],
    },
  },
};
/** An answer of as many tokens as the window holds: minutes of work. */
const endless = {
  model: 'tiny',
  messages: [says('hello')],
  stream: true as const,
  response_format: {
    type: 'json_schema' as const,
    json_schema: {
      name: 'list',
      schema: {
        type: 'array',
        minItems: 200,
        items: { type: 'array', minItems: 200, items: calculator.function.parameters },
      },
    },
  },
};

beforeAll(async () => {
  mkdirSync(join(home.path, 'models'));
  file = writeTinyGguf(join(home.path, 'models', 'tiny.gguf'));
  model = await open({ llmGgufContext: 65_536, llmGgufPort: await freePort() });
  client = connect(model);
});
afterAll(async () => {
  await model.stop();
  home.remove();
});

const refusal = (work: PromiseLike<unknown>) =>
  work.then(
    () => undefined,
    (error: unknown) => error as APIError,
  );

describe('a file in the folder models of the home', () => {
  it('says that it loads, and answers as a stream once it has', async () => {
    const impatient = await refusal(
      connect(model, 0).chat.completions.create({ model: 'tiny', messages: [says('hello')] }),
    );
    if (impatient !== undefined) expect(impatient).toMatchObject({ status: 503 });
    if (impatient !== undefined) expect(impatient.message).toContain('Loading model');
    const stream = await client.chat.completions.create({
      model: 'tiny',
      messages: [says('hello')],
      stream: true,
    });
    const deltas: string[] = [];
    for await (const { choices } of stream) deltas.push(choices[0]?.delta.content ?? '');
    expect(deltas.filter((delta) => delta !== '')).toEqual(['Tiny', ' models', ' say', ' little', '.']);
    const listed = await client.models.list();
    expect(listed.data.map(({ id }) => id)).toEqual(['tiny']);
  });

  it('tells the size of its window as llama.cpp does, and asks for the key', async () => {
    const base = model.settings.llmGatewayUrl.replace(/\/v1$/, '');
    const headers = { authorization: `Bearer ${model.settings.llmApiKey}` };
    const props = await fetch(`${base}/props`, { headers });
    expect(await props.json()).toMatchObject({
      default_generation_settings: { n_ctx: 65_536 },
      total_slots: 2,
    });
    expect((await fetch(`${base}/props`)).status).toBe(401);
    expect((await fetch(`${base}/v1/models`, { headers: { authorization: 'Bearer other' } })).status).toBe(
      401,
    );
    expect(lines.join('')).not.toContain(model.settings.llmApiKey);
  });

  it.each(['auto', 'required', { type: 'function' as const, function: { name: 'calculator' } }] as const)(
    'calls a tool by grammar, with the arguments of its schema only (%j)',
    async (tool_choice) => {
      const other = { ...calculator, function: { ...calculator.function, name: 'tool' } };
      const { choices } = await client.chat.completions.create({
        model: 'tiny',
        messages: [says('what is 6 times 7?')],
        tools: [other, calculator],
        tool_choice,
      });
      expect(choices[0]).toMatchObject({
        finish_reason: 'tool_calls',
        message: { content: null, tool_calls: [{ type: 'function', function: { name: 'calculator' } }] },
      });
      const [call] = choices[0]?.message.tool_calls ?? [];
      expect(call?.type === 'function' && JSON.parse(call.function.arguments)).toEqual({ expression: '6*7' });
    },
  );

  it('answers with the result of a tool, and reads only what is new', async () => {
    const tools = [calculator];
    const question = says('what is 6 times 7, and think of what this conversation has in it already');
    const first = await client.chat.completions.create({ model: 'tiny', messages: [question], tools });
    const message = first.choices[0]?.message;
    if (message?.tool_calls === undefined) throw new Error('no call');
    const result = { role: 'tool' as const, tool_call_id: message.tool_calls[0]?.id ?? '', content: '42' };
    const messages = [question, message, result];
    const second = await client.chat.completions.create({ model: 'tiny', messages, tools });
    expect(second.choices[0]?.message.content).toBe('Tiny models say little.');
    const evaluated = ({ usage }: OpenAI.ChatCompletion) =>
      (usage?.prompt_tokens ?? 0) - (usage?.prompt_tokens_details?.cached_tokens ?? 0);
    expect(second.usage?.prompt_tokens).toBeGreaterThan(first.usage?.prompt_tokens ?? 0);
    expect(evaluated(second)).toBeLessThan(100);
    // Another conversation takes the other sequence, so this one is still there.
    await client.chat.completions.create({ model: 'tiny', messages: [says('something else')] });
    const answer = { role: 'assistant' as const, content: 'Tiny models say little.' };
    const third = await client.chat.completions.create({
      model: 'tiny',
      messages: [...messages, answer, says('and more')],
      tools,
    });
    expect(evaluated(third)).toBeLessThan(100);
  });

  it('refuses what does not fit into the window in words that clients know, whoever says it', async () => {
    const half = [{ type: 'text' as const, text: 'x'.repeat(35_000) }];
    for (const messages of [
      [says('x'.repeat(70_000))],
      [
        { role: 'system' as const, content: half },
        says('hello'),
        { role: 'developer' as const, content: half },
      ],
    ]) {
      const error = await refusal(client.chat.completions.create({ model: 'tiny', messages }));
      expect(error).toMatchObject({ status: 400 });
      expect(error?.message).toMatch(/exceeds the available context size \(65536 tokens\).*LLM_GGUF_CONTEXT/);
    }
  });

  it('heeds stop words and penalties', async () => {
    const body = { model: 'tiny', messages: [says('hello')], temperature: 0 };
    const content = async (more: object) =>
      (await client.chat.completions.create({ ...body, ...more })).choices[0]?.message.content ?? '';
    expect(await content({ stop: 'little' })).toBe('Tiny models say ');
    const schema = { type: 'array', minItems: 9, maxItems: 9, items: { enum: ['a', 'b'] } };
    const response_format = { type: 'json_schema', json_schema: { name: 'list', schema } };
    const letters = async (more: object) =>
      new Set(JSON.parse(await content({ response_format, ...more })) as string[]).size;
    expect(await letters({})).toBe(1);
    expect(await letters({ frequency_penalty: 2 })).toBe(2);
    expect(await letters({ presence_penalty: 2 })).toBe(2);
  });

  it('stops to generate when the caller leaves', async () => {
    const leaving = [new AbortController(), new AbortController()];
    for (const { signal } of leaving) {
      const stream = await client.chat.completions.create(endless, { signal });
      for await (const { choices } of stream) if (choices[0]?.delta.content) break;
    }
    for (const controller of leaving) controller.abort();
    // Both sequences were taken; had one not been given back, this would wait for minutes.
    const { choices } = await client.chat.completions.create({ model: 'tiny', messages: [says('hello')] });
    expect(choices[0]?.message.content).toBe('Tiny models say little.');
  });

  it('tells in words that its process ended, and starts it again', async () => {
    let before: number | undefined;
    const stream = await client.chat.completions.create(endless);
    const read = async () => {
      for await (const { choices } of stream) {
        // Once: deltas that had been sent before its end would kill the next process too.
        if (before !== undefined || !choices[0]?.delta.content) continue;
        before = model.pid();
        // The number 0 would end this process and all of its group.
        if (before === undefined) throw new Error('no process runs the model');
        process.kill(before, 'SIGKILL');
      }
    };
    const error = await refusal(read());
    expect(error?.message).toMatch(/LLM_GGUF\) ended unexpectedly \(SIGKILL\); it is started again/);
    const { choices } = await client.chat.completions.create({ model: 'tiny', messages: [says('hello')] });
    expect(choices[0]?.message.content).toBe('Tiny models say little.');
    expect(model.pid()).not.toBe(before);
  });

  it('ends a process that is stuck once its caller leaves, and starts it again', async () => {
    const leaving = new AbortController();
    const stream = await client.chat.completions.create(endless, { signal: leaving.signal });
    for await (const { choices } of stream) if (choices[0]?.delta.content) break;
    const before = model.pid();
    // The number 0 would stop this process and all of its group.
    if (before === undefined) throw new Error('no process runs the model');
    process.kill(before, 'SIGSTOP');
    const cancelled = connect(model, 0).chat.completions.create(endless, { signal: leaving.signal });
    leaving.abort();
    await refusal(cancelled);
    await waitFor(() => model.pid() !== before);
    expect(lines.join('')).toContain('model process does not answer');
    const { choices } = await client.chat.completions.create({ model: 'tiny', messages: [says('hello')] });
    expect(choices[0]?.message.content).toBe('Tiny models say little.');
  });

  it('outlives a process that ended before it was noticed, whatever is still sent to it, and loads to the end', async () => {
    const load = { path: file, contextTokens: 512, sequences: 1, threads: 1 };
    const own: string[] = [];
    const write = (line: string) => own.push(line);
    const child = new ModelProcess({
      load,
      idleMs: 1,
      logger: createLogger({ name: 'test', destination: { write } }),
    });
    const { signal } = new AbortController();
    const held = await waitFor(
      async () => {
        const answer = child.ask(endless, signal);
        await answer.next();
        return answer;
      },
      { timeoutMs: 90_000, intervalMs: 0 },
    );
    const { pid } = child;
    // The number 0 would end this process and all of its group.
    if (pid === undefined) throw new Error('no process runs the model');
    const before = own.length;
    process.kill(pid, 'SIGKILL');
    // Without a turn of the event loop, so that only the sends can tell.
    while (/^State:\s+[^ZX]/m.test(readFileSync(`/proc/${pid}/status`, 'utf8')));
    const request = { model: 'tiny', messages: [says('hello')] };
    const asks = Array.from({ length: 3 }, () => child.ask(request, signal).next());
    const answers = await Promise.allSettled(asks);
    for (const answer of answers)
      expect(answer).toMatchObject({
        status: 'rejected',
        reason: { message: expect.stringContaining('ended unexpectedly') },
      });
    expect(child.state).toBe('loading');
    expect(child.pid).not.toBe(pid);
    const rest = async () => {
      while ((await held.next()).done !== true);
    };
    await expect(rest()).rejects.toThrow('ended unexpectedly');
    // Nobody asks, but the time without a request begins when the model is there.
    const steps = () =>
      own.slice(before).flatMap((line) => /"msg":"(model file (?:un)?loaded)"/.exec(line)?.[1] ?? []);
    await waitFor(() => steps().includes('model file unloaded'), { timeoutMs: 90_000 });
    expect(steps()).toEqual(['model file loaded', 'model file unloaded']);
    await child.stop();
  });

  it('leaves the memory when nobody asks', async () => {
    await waitFor(() => model.pid() === undefined);
    expect(lines.join('')).toContain('model file unloaded');
  });

  it('is loaded again for a second service of the home, which takes over when the first ends', async () => {
    const llmGgufPort = Number(new URL(model.settings.llmGatewayUrl).port);
    const second = await open({ llmGgufPort });
    try {
      // An address of its own: nobody else can take it when the first one ends.
      expect(second.settings).toEqual({ ...model.settings, llmGatewayUrl: expect.any(String) });
      expect(second.settings.llmGatewayUrl).not.toBe(model.settings.llmGatewayUrl);
      const ask = () => connect(second).chat.completions.create({ model: 'tiny', messages: [says('hello')] });
      expect((await ask()).choices[0]?.message.content).toBe('Tiny models say little.');
      expect(second.pid()).toBeUndefined();
      await model.stop();
      const listed = await connect(second).models.list();
      expect(listed.data.map(({ id }) => id)).toEqual(['tiny']);
    } finally {
      await second.stop();
    }
  });
});

describe('what cannot be run', () => {
  it('is explained for a file that is not whole, and for one that is no model', async () => {
    const llmGguf = join(home.path, 'broken.gguf');
    writeFileSync(llmGguf, readFileSync(file).subarray(0, 200_000));
    const broken = await open({ llmGguf });
    try {
      const messages = [says('hello')];
      const error = await refusal(connect(broken).chat.completions.create({ model: 'broken', messages }));
      expect(error?.message).toMatch(
        /broken\.gguf \(LLM_GGUF\) cannot be loaded: .+incomplete.+whole GGUF file/,
      );
      writeFileSync(llmGguf, 'GGUF and nothing else');
      expect(await describeModelFile(llmGguf)).toMatchObject({
        state: 'failed',
        words: expect.stringContaining('cannot be loaded: its version of GGUF is not known'),
      });
    } finally {
      await broken.stop();
    }
  });

  it('is told from what can: by the package that is not installed', async () => {
    const hooks = `import { registerHooks } from 'node:module';
      registerHooks({ resolve: (name, context, next) => {
        if (name === 'node-llama-cpp') throw Object.assign(new Error('gone'), { code: 'ERR_MODULE_NOT_FOUND' });
        return next(name, context);
      } });`;
    const flags = ['--import', `data:text/javascript,${encodeURIComponent(hooks)}`];
    expect(await describeModelFile(file)).toEqual({
      state: 'ok',
      words: `${file}: 0.6 MiB, architecture llama, context of up to 65536 tokens.`,
    });
    expect(await describeModelFile(file, flags)).toEqual({
      state: 'failed',
      words: expect.stringMatching(
        /package node-llama-cpp, which runs .+tiny\.gguf \(LLM_GGUF\), is not installed/,
      ),
    });
  });

  it('is a port that a stranger holds, which gets neither key nor words', async () => {
    const asked: string[] = [];
    const stranger = createServer((request, response) => {
      asked.push(JSON.stringify([request.url, request.headers]));
      response.end('hello');
    }).listen(0, '127.0.0.1');
    await waitFor(() => stranger.listening);
    const { port } = stranger.address() as AddressInfo;
    await expect(open({ llmGgufPort: port })).rejects.toThrow(/already in use.*LLM_GGUF_PORT/);
    expect(asked.join('')).not.toContain(model.settings.llmApiKey);
    stranger.close();
  });

  it('is a file beside an endpoint: one of them has to go', async () => {
    const both = { llmGguf: file, llmGatewayUrl: 'http://127.0.0.1:1/v1' };
    await expect(open(both)).rejects.toThrow(/LLM_GGUF and LLM_GATEWAY_URL are both set/);
    const endpoint = options({ llmGatewayUrl: both.llmGatewayUrl });
    expect(await openModelFile(endpoint, { logger })).toBeUndefined();
  });
});
