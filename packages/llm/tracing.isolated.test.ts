import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import {
  createServer,
  type IncomingHttpHeaders,
  type IncomingMessage,
  type RequestListener,
  type Server,
} from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { json } from 'node:stream/consumers';
import {
  freePort,
  type ModelServer,
  startChild,
  startModelServer,
  temporaryDirectory,
  waitFor,
} from '@trunkline/testing';
import { generateText, isStepCount, streamText, tool } from 'ai';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { createModelGateway } from './gateway.ts';
import { createTracing, type Tracing, type TracingOptions } from './tracing.ts';

interface Span {
  name: string;
  traceId: string;
  spanId: string;
  parentSpanId?: string;
  attributes: { key: string; value: { stringValue?: string; intValue?: number; doubleValue?: number } }[];
}
interface TraceBody {
  resourceSpans: { scopeSpans: { spans: Span[] }[] }[];
}

const keys = { publicKey: 'pk-public', secretKey: 'sk-secret' };
const received: { path: string | undefined; headers: IncomingHttpHeaders; spans: Span[] }[] = [];
const receivers: Server[] = [];
const tracings: Tracing[] = [];
let model: ModelServer;
let host: string;

beforeAll(async () => {
  model = await startModelServer({ script: () => ({ text: 'Hello', usage: { input: 11, output: 7 } }) });
  host = await listen((request, response) => {
    void record(request).then(() => response.setHeader('content-type', 'application/json').end('{}'));
  });
});
afterEach(async () => {
  await Promise.all(tracings.splice(0).map((tracing) => tracing.stop()));
  received.length = 0;
});
afterAll(async () => {
  await model.stop();
  for (const server of receivers) {
    server.closeAllConnections();
    server.close();
  }
});

async function record(request: IncomingMessage): Promise<void> {
  const body = (await json(request)) as TraceBody;
  const spans = body.resourceSpans.flatMap((resource) => resource.scopeSpans.flatMap((scope) => scope.spans));
  received.push({ path: request.url, headers: request.headers, spans });
}

async function listen(handler: RequestListener): Promise<string> {
  const server = createServer(handler).listen(0, '127.0.0.1');
  receivers.push(server);
  await once(server, 'listening');
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

async function trace(options: TracingOptions): Promise<Tracing> {
  const tracing = await createTracing(options);
  tracings.push(tracing);
  return tracing;
}

const languageModel = () => createModelGateway({ url: model.url, model: 'gpt-4o' }).languageModel();

function attributesOf(span: Span | undefined): Record<string, unknown> {
  const entries = span?.attributes.map(({ key, value }) => [key, Object.values(value)[0]]) ?? [];
  return Object.fromEntries(entries);
}

describe('with both keys', () => {
  it('sends prompts and answers without credentials', async () => {
    const tracing = await trace({ ...keys, traceHost: host });
    const prompt =
      'The tool said: Authorization: Bearer sesame-0123456789abcdef, https://ada:sesame-word@a.example/?api_key=sesame-key';
    expect(await streamText({ model: languageModel(), prompt }).text).toBe('Hello');
    await tracing.stop();
    const sent = JSON.stringify(received);
    expect(sent).toContain('The tool said');
    expect(sent).not.toContain('sesame');
  });

  it('sends nothing of the keys of its services, in no error, list or name either', async () => {
    let secrets = ['sesame-of-the-environment', 'none'];
    const first = await trace({ ...keys, traceHost: host, secrets: () => secrets });
    const second = await trace({ ...keys, traceHost: host, secrets: () => ['sesame-of-another'] });
    secrets = [...secrets, 'sesame-of-a-later-file'];
    const prompt = 'Is there none? sesame-of-the-environment sesame-of-another sesame-of-a-later-file';
    const failing = tool({
      inputSchema: z.object({}),
      execute: async (): Promise<string> => {
        throw new Error('refused: sesame-of-another');
      },
    });
    model.enqueue({ toolCalls: [{ name: 'failing', arguments: {} }] });
    const tools = { failing };
    await generateText({ model: languageModel(), prompt, tools, stopWhen: isStepCount(2) });
    model.enqueue({ fault: 'status', status: 400, message: 'unknown key sesame-of-the-environment' });
    await expect(generateText({ model: languageModel(), prompt, maxRetries: 0 })).rejects.toThrow();
    await first.stop();
    await second.stop();
    const sent = JSON.stringify(received);
    expect(sent).toContain('Is there none?');
    expect(sent).toContain('refused: [redacted]');
    expect(sent).not.toContain('sesame');
  });

  it('sends spans with model, usage and session, under basic authentication', async () => {
    const tracing = await trace({ ...keys, traceHost: `${host}/` });
    expect(tracing).toMatchObject({ enabled: true, host });
    const result = streamText({
      model: languageModel(),
      prompt: 'Hi',
      runtimeContext: { sessionId: 'session-9' },
      telemetry: { includeRuntimeContext: { sessionId: true } },
    });
    expect(await result.text).toBe('Hello');
    await tracing.stop();
    expect(received[0]?.path).toBe('/api/public/otel/v1/traces');
    expect(received[0]?.headers.authorization).toBe(
      `Basic ${Buffer.from('pk-public:sk-secret').toString('base64')}`,
    );
    const spans = received.flatMap((entry) => entry.spans).map(attributesOf);
    expect(spans).toContainEqual(
      expect.objectContaining({
        'gen_ai.request.model': 'gpt-4o',
        'gen_ai.usage.input_tokens': 11,
        'gen_ai.usage.output_tokens': 7,
        'session.id': 'session-9',
      }),
    );
  });

  it('nests a turn that a tool starts under the turn that called it', async () => {
    const tracing = await trace({ ...keys, traceHost: host });
    model.enqueue({ toolCalls: [{ name: 'delegate', arguments: {} }] });
    const delegate = tool({
      inputSchema: z.object({}),
      execute: async () => (await generateText({ model: languageModel(), prompt: 'Sub' })).text,
    });
    await generateText({
      model: languageModel(),
      prompt: 'Hi',
      tools: { delegate },
      stopWhen: isStepCount(2),
    });
    await tracing.stop();
    const spans = received.flatMap((entry) => entry.spans);
    expect(new Set(spans.map((span) => span.traceId)).size).toBe(1);
  });

  it('shares one export among the services of a process, which the last one ends', async () => {
    const first = await trace({ ...keys, traceHost: host });
    const second = await trace({ ...keys, traceHost: host });
    await first.stop();
    await first.stop();
    await generateText({ model: languageModel(), prompt: 'Hi' });
    await second.stop();
    const roots = received.flatMap((entry) => entry.spans).filter((span) => !span.parentSpanId);
    expect(roots).toHaveLength(1);
  });

  it('sends nothing after it was stopped', async () => {
    await (await trace({ ...keys, traceHost: host })).stop();
    await generateText({ model: languageModel(), prompt: 'Hi' });
    await (await trace({ ...keys, traceHost: host })).stop();
    expect(received).toEqual([]);
  });

  it.each([
    [{ traceHost: 'http://a.test', traceUrl: 'http://b.test' }, 'http://a.test'],
    [{ traceHost: '', traceUrl: 'http://b.test' }, 'http://b.test'],
    [{}, 'http://127.0.0.1:3001'],
  ])('chooses the host from %j [A061]', async (options, expected) => {
    expect((await trace({ ...keys, ...options })).host).toBe(expected);
  });
});

describe('a tracing host that fails', () => {
  it.each(['dead', 'silent', 'refusing'])('and is %s does not disturb a turn', async (kind) => {
    const warnings: string[] = [];
    const logger = { warn: (_facts: object, message: string) => void warnings.push(message) };
    const hosts: Record<string, () => Promise<string>> = {
      dead: async () => `http://127.0.0.1:${await freePort()}`,
      silent: () => listen(() => undefined),
      refusing: () => listen((_request, response) => response.writeHead(401).end()),
    };
    const tracing = await trace({ ...keys, traceHost: await hosts[kind]!(), logger });
    expect((await generateText({ model: languageModel(), prompt: 'Hi' })).text).toBe('Hello');
    await tracing.stop();
    await waitFor(() => warnings.length > 0);
    expect(warnings.join()).toMatch(/TRACE_HOST|may be lost/);
  });
});

describe('without both keys', () => {
  it('does nothing [A060]', async () => {
    const tracing = await trace({ publicKey: 'pk-public', traceHost: host });
    expect(tracing).toMatchObject({ enabled: false, host: undefined });
    await generateText({ model: languageModel(), prompt: 'Hi' });
    await tracing.stop();
    expect(received).toEqual([]);
  });

  it('loads none of the tracing packages [A060]', async () => {
    const directory = temporaryDirectory();
    const script = join(directory.path, 'load.mjs');
    writeFileSync(script, loadingReport);
    const child = startChild(script, { arguments: [new URL('./index.ts', import.meta.url).href] });
    expect(await child.waitForLine('off:')).toBe('off: 0');
    expect(await child.waitForLine('on:')).not.toBe('on: 0');
    await child.kill();
    directory.remove();
  });
});

/** Counts the tracing packages that get loaded with tracing off, and then on. */
const loadingReport = `
import { registerHooks } from 'node:module';
let loaded = 0;
registerHooks({
  load(url, context, next) {
    if (/opentelemetry|langfuse|ai-sdk\\/otel/.test(url)) loaded += 1;
    return next(url, context);
  },
});
const { createTracing } = await import(process.argv[2]);
await (await createTracing({ publicKey: 'pk-public' })).stop();
console.log('off: ' + loaded);
await (await createTracing({ publicKey: 'pk', secretKey: 'sk', traceHost: 'http://127.0.0.1:9' })).stop();
console.log('on: ' + loaded);
`;
