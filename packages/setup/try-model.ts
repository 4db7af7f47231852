import { statSync } from 'node:fs';
import { ConfigError, type Logger } from '@trunkline/config';
import { type ModelFileOptions, openModelFile } from '@trunkline/gguf';
import {
  createModelGateway,
  ModelError,
  type ModelErrorCode,
  type ModelGateway,
  type ModelProbe,
  probeModel,
} from '@trunkline/llm';
import {
  errorMessage,
  formatDuration,
  type ModelList,
  type ModelPlace,
  type ModelTest,
} from '@trunkline/std';
import { completeUrl } from './providers.ts';

/** A model may have to be loaded first. */
const testLimitMs = 180_000;

/** A server that still says so after this time is told to the person. */
const loadingLimitMs = 60_000;

/** With what is known of the endpoint beside what a person typed. */
export interface KnownPlace extends ModelPlace {
  headers?: Readonly<Record<string, string>> | undefined;
}

/** The models at an address, or in words why they cannot be listed. */
export async function listModels(
  { url: given, apiKey, headers }: KnownPlace,
  signal: AbortSignal,
): Promise<ModelList> {
  const url = completeUrl(given);
  if (url === undefined) return { ok: false, url: given, models: [], problem: addressWords(given) };
  const { code, message, models } = await createModelGateway({ url, apiKey, headers }).check(signal);
  // No model is chosen yet, which is all that is wrong with a list.
  if (code !== undefined && code !== 'misconfigured')
    return { ok: false, url, models: [], problem: failureWords(code, message, { url, apiKey }) };
  if (models.length > 0) return { ok: true, url, models: models.sort() };
  return { ok: false, url, models, problem: `${hostOf(url)} offers no model. Load or pull one there first.` };
}

/** A test with what `models.yaml` would say of the model. */
export type GatewayTest = ModelTest & Pick<ModelProbe, 'facts'>;

/** Tries what the model of a gateway can do: some hundred tokens. Failures come back in the words of its settings. */
export async function testGateway(
  gateway: Pick<ModelGateway, 'languageModel'>,
  caller: AbortSignal,
): Promise<GatewayTest & { code?: ModelErrorCode | undefined }> {
  const signal = AbortSignal.any([caller, AbortSignal.timeout(testLimitMs)]);
  const probe = await probeModel(gateway.languageModel(), signal);
  const [answer] = probe.findings;
  if (answer?.ok !== false) return { ...resultOf(probe), facts: probe.facts };
  return { ...failed(answer.words), facts: probe.facts, code: answer.code };
}

/** Tries what a model can do: some hundred tokens. Failures come back as words. */
export async function testModel(
  { url: given, apiKey, headers, model }: KnownPlace & { model: string },
  caller: AbortSignal,
  loadingTimeoutMs = loadingLimitMs,
): Promise<ModelTest & Partial<GatewayTest>> {
  const url = completeUrl(given);
  if (url === undefined) return failed(addressWords(given));
  const gateway = createModelGateway({ url, apiKey, headers, model, loadingTimeoutMs, maxRetries: 0 });
  const { code, ...tested } = await testGateway(gateway, caller);
  if (tested.ok) return tested;
  caller.throwIfAborted();
  const offered = code === 'not-found' ? await listModels({ url, apiKey, headers }, caller) : undefined;
  return failed(failureWords(code ?? 'unknown', tested.summary, { url, apiKey, model, offered }));
}

const besideServices = {
  llmGgufContext: undefined,
  llmGgufSequences: 1,
  llmGgufIdleMinutes: 30,
  llmGgufPort: 0,
};

interface FileTest {
  /** TRUNKLINE_HOME. */
  home: string;
  logger: Logger;
  /** Where `settings` are not given. */
  threads?: number | undefined;
  /** How the services run it; at their port, a service that has it loaded answers. Beside what runs when not given. */
  settings?: Omit<ModelFileOptions, 'trunklineHome' | 'llmGatewayUrl' | 'llmUrl' | 'llmModel' | 'llmGguf'>;
}

/** Loads a model file as the services would, and tries it. */
export async function testModelFile(
  file: string,
  { home, logger, threads, settings = { ...besideServices, llmGgufThreads: threads } }: FileTest,
  signal: AbortSignal,
): Promise<ModelTest> {
  if (!statSync(file, { throwIfNoEntry: false })?.isFile()) return failed(`There is no file ${file}.`);
  try {
    const opened = await openModelFile(
      {
        ...settings,
        trunklineHome: home,
        llmGguf: file,
        llmGatewayUrl: undefined,
        llmUrl: undefined,
        llmModel: undefined,
      },
      { logger },
    );
    if (opened === undefined) return failed(`${file} cannot be used as a model.`);
    try {
      const { llmGatewayUrl: url, llmApiKey: apiKey, llmModel: model } = opened.settings;
      const gateway = createModelGateway({
        url,
        apiKey,
        model,
        loadingTimeoutMs: testLimitMs,
        maxRetries: 0,
      });
      // Loading is not what an answer takes.
      const prompt = [{ role: 'user' as const, content: [{ type: 'text' as const, text: 'Hello' }] }];
      await gateway.languageModel().doGenerate({ prompt, maxOutputTokens: 1, abortSignal: signal });
      const { facts: _, ...tested } = await testModel({ url, apiKey, model }, signal);
      return tested;
    } finally {
      await opened.stop();
    }
  } catch (error) {
    if (error instanceof ConfigError || error instanceof ModelError) return failed(errorMessage(error));
    throw error;
  }
}

function resultOf({ findings, facts, speed }: ModelProbe): ModelTest {
  const by = (subject: string) => findings.find((finding) => finding.subject === subject);
  const abilities = [
    by('tools')?.ok ? 'calls tools' : 'calls no tools, so the agent can do little with it',
    by('images')?.ok ? 'sees images' : 'sees no images',
  ];
  const start = speed === undefined ? '' : ` after ${formatDuration(speed.firstTokenMs)}`;
  return {
    ok: true,
    summary: `It answers${start}, ${abilities.join(', ')}.`,
    findings: findings.map(({ subject, ok, words }) => ({ subject, ok, words })),
    ...(facts.context_tokens !== undefined && { contextTokens: facts.context_tokens }),
    ...speed,
  };
}

export function failed(summary: string): ModelTest {
  return { ok: false, summary, findings: [{ subject: 'answer', ok: false, words: summary }] };
}

interface Tried {
  url: string;
  apiKey: string | undefined;
  model?: string;
  offered?: ModelList | undefined;
}

const mostNamed = 8;

/** What went wrong and what to do, without naming variables: whoever reads it sets nothing by them. */
function failureWords(code: ModelErrorCode, message: string, { url, apiKey, model, offered }: Tried): string {
  const host = hostOf(url);
  if (message.includes('bad port'))
    return `No browser or program calls port ${URL.parse(url)?.port} for pages or APIs, so the server cannot be there. Check the number of the port.`;
  const words: Partial<Record<ModelErrorCode, string>> = {
    unreachable: `Nothing answers at ${host}. Check that the server runs and that the address is right.`,
    'refused-key':
      apiKey === undefined || apiKey === ''
        ? `${host} wants a key.`
        : `${host} refuses the key. Check that you copied all of it, and that it is still valid.`,
    'no-credit': `The account behind the key has no credit left at ${host}.`,
    'rate-limited': `${host} limits the rate of calls. Wait a little and try again.`,
    loading: `${host} is still loading the model. Try again in a minute.`,
    timeout: `${host} did not answer in time. The model may be too large for the machine, or still loading: try again.`,
    'bad-answer': `What answers at ${url} is no OpenAI-compatible API. Such addresses often end in /v1.`,
    'not-found':
      model === undefined
        ? `${host} has no list of models at this address. Such addresses often end in /v1.`
        : `${host} knows no model "${model}".${offerWords(offered)}`,
  };
  return words[code] ?? message;
}

function offerWords(offered: ModelList | undefined): string {
  if (offered === undefined || offered.models.length === 0) return ' Check its name and the address.';
  const more = offered.models.length - mostNamed;
  return ` It offers ${offered.models.slice(0, mostNamed).join(', ')}${more > 0 ? ` and ${more} more` : ''}.`;
}

function addressWords(given: string): string {
  return /[<>]/.test(given)
    ? `Fill in the part in angle brackets of ${given}.`
    : `"${given}" is no address. It should look like http://127.0.0.1:11434/v1.`;
}

function hostOf(url: string): string {
  return URL.parse(url)?.host ?? url;
}
