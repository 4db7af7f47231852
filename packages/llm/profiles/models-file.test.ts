import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type ModelServer, startModelServer } from '@trunkline/testing';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { createLiveGateway } from '../gateway.ts';
import type { SharedModelOptions } from '../roles.ts';
import { ModelsFile } from './models-file.ts';
import { profileOf } from './profile.ts';

let home: string;
let now = 0;
let main: ModelServer;
let other: ModelServer;

beforeAll(async () => {
  main = await startModelServer({ script: (request) => `${request.model} here` });
  other = await startModelServer({ script: (request) => `${request.model} there` });
});
afterAll(async () => {
  await Promise.all([main.stop(), other.stop()]);
});
beforeEach(() => {
  home = mkdtempSync(join(tmpdir(), 'models-'));
});
afterEach(() => rmSync(home, { recursive: true }));

function write(text: string): void {
  now += 1000;
  writeFileSync(join(home, 'models.yaml'), text);
}

const open = () => new ModelsFile({ home, env: { ROLE_KEY: 'sesame' }, now: () => now });

function gateway(
  options: Partial<SharedModelOptions> = {},
  more: Parameters<typeof createLiveGateway>[2] = {},
) {
  const none = {
    ...{ llmApiKey: undefined, llmModel: 'big', llmFastModel: undefined, llmJudgeModel: undefined },
    ...{ llmVisionModel: undefined, llmContextTokens: undefined, llmTools: undefined },
    ...{ llmFirstTokenTimeout: undefined, llmIdleTimeout: undefined, llmLoadingTimeout: undefined },
    llmAnswerTimeout: undefined,
  };
  const shared = { trunklineHome: home, llmGatewayUrl: main.url, ...none, ...options };
  return createLiveGateway(shared, { file: open() }, more);
}

type Model = ReturnType<ReturnType<typeof gateway>['languageModel']>;
type Prompt = Parameters<Model['doGenerate']>[0]['prompt'];

async function ask(model: Model, prompt: Prompt = [user()]): Promise<string> {
  const { content } = await model.doGenerate({ prompt });
  return content.map((part) => (part.type === 'text' ? part.text : '')).join('');
}

function user(...images: string[]): Prompt[number] {
  const files = images.map((url) => ({
    type: 'file' as const,
    mediaType: 'image/png',
    data: { type: 'url' as const, url: new URL(url) },
  }));
  return { role: 'user', content: [{ type: 'text', text: 'What is this?' }, ...files] };
}

describe('models.yaml', () => {
  it('sets facts by name and pattern; the whole name wins, and the file is followed', () => {
    const file = open();
    expect(file.profile('qwen3:8b')).toEqual({});
    write(
      'models:\n  qwen3:8b: { context_tokens: 32768 }\n  qwen*: { context_tokens: 4096, idle_timeout_s: 5 }\n',
    );
    expect(file.profile('qwen3:8b')).toEqual({ contextTokens: 32_768, idleMs: 5000 });
    expect(file.profile('qwen2')).toEqual({ contextTokens: 4096, idleMs: 5000 });
    write('models: { qwen3:8b: { contxt: 1 } }');
    expect(file.profile('qwen3:8b').contextTokens).toBe(32_768);
    expect(open).toThrow(/models\.yaml:1:\d+: .*contxt/);
  });

  it('keeps comments when the page writes into it', async () => {
    write('# ours\nroles:\n  helper: small # quick\n');
    const file = open();
    await file.save('qwen3:8b', { context_tokens: 8192, tools: 'prompted' });
    await file.save('qwen3:8b', { images: false });
    expect(readFileSync(file.file, 'utf8')).toMatch(/^# ours\nroles:\n {2}helper: small # quick\n/);
    expect(open().profile('qwen3:8b')).toEqual({ contextTokens: 8192, tools: 'prompted', images: false });
    expect(open().role('helper')).toEqual({ model: 'small' });
  });

  it('reaches the profile of a model, and a variable wins over it', () => {
    write('models: { "*": { context_tokens: 4096, price: { input: 1, output: 2 } } }');
    expect(profileOf(gateway().languageModel())).toMatchObject({ contextTokens: 4096, price: { input: 1 } });
    expect(gateway().price('big')).toEqual({ input: 1, output: 2 });
    const set = gateway({ llmContextTokens: 8192, llmIdleTimeout: 7 });
    expect(profileOf(set.languageModel())).toMatchObject({ contextTokens: 8192, idleMs: 7000 });
    expect(profileOf(set.languageModel('other'))).toMatchObject({ contextTokens: 4096, idleMs: 7000 });
  });
});

describe('roles', () => {
  it('embed with the model, the endpoint and the key that are set now', async () => {
    const file = open();
    const models = gateway(
      {},
      {
        get embeddingModel() {
          return file.role('embeddings')?.model ?? 'plain';
        },
      },
    );
    const { embed } = models;
    const sent = ({ requests }: typeof main) => {
      const { body, headers } = requests.at(-1)!;
      return [(body as { model: string }).model, headers.authorization];
    };
    await embed?.(['a']);
    expect(sent(main)).toEqual(['plain', undefined]);
    write(`roles: { embeddings: { model: first, url: "${other.url}", api_key: "\${ROLE_KEY}" } }`);
    await embed?.(['a']);
    expect(sent(other)).toEqual(['first', 'Bearer sesame']);
    write(`roles: { embeddings: { model: first, url: "${other.url}" } }`);
    await embed?.(['a']);
    expect(sent(other)).toEqual(['first', undefined]);
    write('roles: { embeddings: second }');
    await embed?.(['a']);
    expect(sent(main)).toEqual(['second', undefined]);
  });

  it('take the chat from the demo model to an endpoint, to another and back at once; a variable wins', async () => {
    const models = gateway({ llmGatewayUrl: undefined, llmModel: undefined });
    const fixed = gateway();
    expect(models.describe()).toMatchObject({ demo: true });
    write(`roles: { chat: { model: first, url: "${main.url}", api_key: "\${ROLE_KEY}" } }`);
    expect(await ask(models.languageModel())).toBe('first here');
    expect(main.requests.at(-1)?.headers.authorization).toBe('Bearer sesame');
    write(`roles: { chat: { model: second, url: "${other.url}" } }`);
    expect(await ask(models.languageModel())).toBe('second there');
    expect([await ask(models.fastModel()), await ask(models.judgeModel())]).toEqual(
      Array(2).fill('second there'),
    );
    expect(other.requests.at(-1)?.headers.authorization).toBeUndefined();
    expect(await ask(fixed.languageModel())).toBe('big here');
    write('roles: { helper: small }');
    expect(models.describe()).toMatchObject({ demo: true });
  });

  it('have models of their own, at another endpoint with its own key', async () => {
    write(`roles:
  helper: small
  judge: { model: strict, url: "${other.url}", api_key: "\${ROLE_KEY}" }
`);
    const models = gateway({ llmApiKey: 'main-key' });
    expect(await ask(models.fastModel())).toBe('small here');
    expect(await ask(models.judgeModel())).toBe('strict there');
    expect(other.requests.at(-1)?.headers.authorization).toBe('Bearer sesame');
    expect(await ask(models.languageModel())).toBe('big here');
    expect(await ask(gateway({ llmFastModel: 'tiny', llmJudgeModel: 'dredd' }).judgeModel())).toBe(
      'dredd here',
    );
    expect(await ask(gateway({ llmFastModel: 'tiny' }).fastModel())).toBe('tiny here');
  });

  it('follow the file while they run', async () => {
    const models = gateway();
    expect(await ask(models.fastModel())).toBe('big here');
    write('roles: { helper: small }');
    expect(await ask(models.fastModel())).toBe('small here');
  });

  it('chat may have its endpoint there; without it the variables must name one', async () => {
    write(`roles: { chat: { model: home, url: "${other.url}" } }`);
    expect(await ask(gateway({ llmGatewayUrl: undefined, llmModel: undefined }).languageModel())).toBe(
      'home there',
    );
    expect(await ask(gateway({ llmModel: undefined }).languageModel())).toBe('home here');
  });
});

describe('images', () => {
  const image = 'https://example.com/cat.png';

  it('go to the vision model when the model sees none', async () => {
    write('roles: { vision: eyes }\nmodels: { big: { images: false } }');
    const model = gateway().languageModel();
    expect(await ask(model, [user(image)])).toBe('eyes here');
    expect(await ask(model)).toBe('big here');
  });

  it('of earlier turns are left out, so that the conversation goes on', async () => {
    write('models: { big: { images: false } }');
    const answer: Prompt[number] = { role: 'assistant', content: [{ type: 'text', text: 'A cat.' }] };
    expect(await ask(gateway().languageModel(), [user(image), answer, user()])).toBe('big here');
    expect(JSON.stringify(main.chats().at(-1)?.messages)).not.toContain('cat.png');
  });

  it('without a vision model are refused with what to set', async () => {
    write('models: { big: { images: false } }');
    await expect(ask(gateway().languageModel(), [user(image)])).rejects.toMatchObject({
      code: 'images-unsupported',
      message: expect.stringContaining('LLM_VISION_MODEL'),
    });
  });

  it('that the endpoint refuses are remembered', async () => {
    const blind = await startModelServer({
      script: [
        { fault: 'status', status: 400, message: 'image input is not supported - hint: you may need mmproj' },
        'I see',
        'I see again',
      ],
    });
    const model = gateway({ llmGatewayUrl: blind.url, llmVisionModel: 'eyes' }).languageModel();
    expect(await ask(model, [user(image)])).toBe('I see');
    expect(await ask(model, [user(image)])).toBe('I see again');
    expect(blind.chats().map(({ model: name }) => name)).toEqual(['big', 'eyes', 'eyes']);
    await blind.stop();
  });
});
