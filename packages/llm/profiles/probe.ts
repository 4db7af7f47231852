import type {
  LanguageModelV4,
  LanguageModelV4CallOptions,
  LanguageModelV4Message,
  LanguageModelV4StreamPart,
} from '@ai-sdk/provider';
import { formatDuration } from '@trunkline/std';
import { contextWindowOf } from '../context-window.ts';
import { toModelError } from '../error-translation.ts';
import { ModelError, type ModelErrorCode } from '../model-error.ts';
import { isLocalAddress, shownKind } from './endpoint-kind.ts';
import type { ProfileSection } from './models-file.ts';
import { learnedOf, originOf, profileOf } from './profile.ts';
import { ownServers } from './table.ts';

/** One thing that was tried with a model, and what came back, in words. */
interface ProbeFinding {
  subject: 'answer' | 'context' | 'tools' | 'images';
  ok: boolean;
  words: string;
  /** Why the call failed. */
  code?: ModelErrorCode;
}

export interface ModelProbe {
  findings: ProbeFinding[];
  /** How fast the model writes, where it wrote enough to tell. */
  speed?: ModelSpeed;
  /** What `models.yaml` would say of the model. */
  facts: ProfileSection;
}

interface ModelSpeed {
  /** Milliseconds until the answer begins. */
  firstTokenMs: number;
  tokensPerSecond?: number;
}

/** Enough to tell how fast a model writes, and done in time by one that runs on a CPU. */
const countedTokens = 128;

/** With fewer, the speed is an accident of how the endpoint puts them together. */
const fewestTokens = 8;

/** Where the endpoint counts no tokens. */
const charactersPerToken = 4;

/** An endpoint is asked in up to six ways how much the model takes. */
const contextWaitMs = 20_000;

/** Room for a model that thinks before it answers. */
const answerTokens = 512;

/** A red square, eight by eight. */
const redSquare =
  'iVBORw0KGgoAAAANSUhEUgAAAAgAAAAICAIAAABLbSncAAAAEUlEQVR42mP4z8CAFTEMLQkAKP8/wc53yE8AAAAASUVORK5CYII=';

/** Names of models that run at a provider alone, whoever passes calls on; Ollama marks its own with `cloud`. */
const hostedNames = /^(gpt-[345]|chatgpt|o[134](-|$)|claude|gemini|grok)|[:-]cloud$/i;

/** Whether calls of a model cost nothing, so that it may be tried unasked. Programs nearby may pass a call on to a provider, so an endpoint must have shown that it serves files of its own. */
export function isFree(model: LanguageModelV4): boolean {
  const origin = originOf(model);
  if (origin === undefined) return true;
  const { baseUrl } = origin.endpoint;
  // What the operator says of the price wins; the built-in list names prices of providers, not of a copy at home.
  const set = origin.configured().price;
  if (set !== undefined) return set.input === 0 && set.output === 0;
  const { price } = profileOf(model);
  if (origin.modelId.endsWith(':free') || (price?.input === 0 && price.output === 0)) return true;
  const name = origin.modelId.slice(origin.modelId.lastIndexOf('/') + 1);
  const kind = shownKind(baseUrl);
  const isOwn = kind !== undefined && ownServers.includes(kind);
  return isOwn && isLocalAddress(baseUrl) && !hostedNames.test(name);
}

/** Tries what a model can do: a short answer, a tool call and an image. Costs some hundred tokens. */
export async function probeModel(model: LanguageModelV4, signal: AbortSignal): Promise<ModelProbe> {
  const { answer, speed } = await probeAnswer(model, signal);
  if (speed === undefined) return { findings: [answer], facts: {} };
  const context = await contextWindowOf(model, signal, contextWaitMs);
  const tools = await probeTools(model, signal);
  const images = await probeImages(model, signal);
  const origin = originOf(model);
  const isRefused = origin !== undefined && learnedOf(origin).tools !== undefined;
  return {
    findings: [
      answer,
      {
        subject: 'context',
        ok: context !== undefined,
        words:
          context === undefined
            ? 'the endpoint does not say how many tokens it takes: set LLM_CONTEXT_TOKENS'
            : `takes ${context} tokens, prompt and answer together`,
      },
      tools,
      images,
    ],
    speed,
    facts: {
      ...(context !== undefined && { context_tokens: context }),
      // What the endpoint refused counts, also where the model then did not call the tool.
      ...((tools.ok || isRefused) && { tools: profileOf(model).tools }),
      // A call that failed for another reason says nothing about images.
      ...((images.code === undefined || images.code === 'images-unsupported') && { images: images.ok }),
    },
  };
}

async function probeAnswer(
  model: LanguageModelV4,
  signal: AbortSignal,
): Promise<{ answer: ProbeFinding; speed?: ModelSpeed }> {
  const subject = 'answer';
  const start = performance.now();
  try {
    // A stream of our models opens with its first token.
    const { stream } = await model.doStream({
      prompt: [text('Count from 1 to 30 in digits.')],
      maxOutputTokens: countedTokens,
      abortSignal: signal,
    });
    const firstTokenMs = performance.now() - start;
    const tokens = await countTokens(stream);
    const totalMs = performance.now() - start;
    const writingMs = totalMs - firstTokenMs;
    const tokensPerSecond =
      tokens < fewestTokens || writingMs < 1 ? undefined : ((tokens - 1) * 1000) / writingMs;
    const pace = tokensPerSecond === undefined ? '' : `, ${paceOf(tokensPerSecond)} tokens a second`;
    const words = `answers within ${formatDuration(totalMs)}: begins after ${formatDuration(firstTokenMs)}${pace}`;
    return {
      answer: { subject, ok: true, words },
      speed: { firstTokenMs, ...(tokensPerSecond !== undefined && { tokensPerSecond }) },
    };
  } catch (error) {
    return { answer: { subject, ok: false, ...failureOf(error, signal) } };
  }
}

function paceOf(tokensPerSecond: number): string {
  return tokensPerSecond < 10 ? tokensPerSecond.toFixed(1) : String(Math.round(tokensPerSecond));
}

/** Reads an answer to its end; thoughts count as well. */
async function countTokens(stream: ReadableStream<LanguageModelV4StreamPart>): Promise<number> {
  let characters = 0;
  let counted: number | undefined;
  for await (const part of stream) {
    if (part.type === 'error') throw part.error;
    if (part.type === 'text-delta' || part.type === 'reasoning-delta') characters += part.delta.length;
    if (part.type === 'finish') counted = part.usage.outputTokens.total;
  }
  return counted ?? Math.round(characters / charactersPerToken);
}

async function probeTools(model: LanguageModelV4, signal: AbortSignal): Promise<ProbeFinding> {
  const subject = 'tools';
  const inputSchema = {
    type: 'object' as const,
    properties: { city: { type: 'string' as const } },
    required: ['city'],
  };
  try {
    const content = await ask(model, [text('Use the tool get_weather to find the weather in Oslo.')], {
      tools: [{ type: 'function', name: 'get_weather', description: 'The weather in a city.', inputSchema }],
      abortSignal: signal,
    });
    const isCalled = content.some((part) => part.type === 'tool-call' && part.toolName === 'get_weather');
    if (!isCalled) return { subject, ok: false, words: 'did not call the tool that it was told to call' };
    const how = profileOf(model).tools === 'native' ? 'by the API' : 'described in the prompt';
    return { subject, ok: true, words: `calls tools, ${how}` };
  } catch (error) {
    return { subject, ok: false, ...failureOf(error, signal) };
  }
}

async function probeImages(model: LanguageModelV4, signal: AbortSignal): Promise<ProbeFinding> {
  const subject = 'images';
  const image = {
    type: 'file' as const,
    mediaType: 'image/png',
    data: { type: 'data' as const, data: redSquare },
  };
  const question = text('Which colour is this square? Answer with one word.');
  try {
    const content = await ask(model, [{ role: 'user', content: [...question.content, image] }], {
      abortSignal: signal,
    });
    const said = content.map((part) => (part.type === 'text' ? part.text : '')).join('');
    const isSeen = /\bred\b/i.test(said);
    return { subject, ok: isSeen, words: isSeen ? 'sees images' : 'did not see the image' };
  } catch (error) {
    const isBlind = error instanceof ModelError && error.code === 'images-unsupported';
    return { subject, ok: false, ...failureOf(error, signal), ...(isBlind && { words: 'sees no images' }) };
  }
}

function text(words: string) {
  return { role: 'user' as const, content: [{ type: 'text' as const, text: words }] };
}

async function ask(
  model: LanguageModelV4,
  prompt: LanguageModelV4Message[],
  options: Omit<LanguageModelV4CallOptions, 'prompt'>,
) {
  const { content } = await model.doGenerate({ maxOutputTokens: answerTokens, ...options, prompt });
  return content;
}

function failureOf(error: unknown, signal: AbortSignal): { words: string; code: ModelErrorCode } {
  if (signal.aborted) return { words: 'did not answer in the time for the trial', code: 'timeout' };
  const { message: words, code } = toModelError(error);
  return { words, code };
}
