import type { LanguageModelV4, LanguageModelV4CallOptions, LanguageModelV4Message } from '@ai-sdk/provider';
import { formatDuration } from '@trunkline/std';
import { contextWindowOf } from '../context-window.ts';
import { toModelError } from '../error-translation.ts';
import { ModelError } from '../model-error.ts';
import { endpointKind, isLocalAddress } from './endpoint-kind.ts';
import type { ProfileSection } from './models-file.ts';
import { originOf, profileOf } from './profile.ts';

/** One thing that was tried with a model, and what came back, in words. */
export interface ProbeFinding {
  subject: 'answer' | 'context' | 'tools' | 'images';
  ok: boolean;
  words: string;
}

export interface ModelProbe {
  findings: ProbeFinding[];
  /** What `models.yaml` would say of the model. */
  facts: ProfileSection;
}

/** Room for a model that thinks before it answers. */
const answerTokens = 512;

/** A red square, eight by eight. */
const redSquare =
  'iVBORw0KGgoAAAANSUhEUgAAAAgAAAAICAIAAABLbSncAAAAEUlEQVR42mP4z8CAFTEMLQkAKP8/wc53yE8AAAAASUVORK5CYII=';

/** Whether calls of a model cost nothing, so that it may be tried unasked. A LiteLLM nearby may pass them on to a provider. */
export function isFree(model: LanguageModelV4): boolean {
  const origin = originOf(model);
  if (origin === undefined) return true;
  const { price } = profileOf(model);
  const { baseUrl } = origin.endpoint;
  if (origin.modelId.endsWith(':free') || (price?.input === 0 && price.output === 0)) return true;
  return isLocalAddress(baseUrl) && endpointKind(baseUrl) !== 'litellm';
}

/** Tries what a model can do: a short answer, a tool call and an image. Costs some hundred tokens. */
export async function probeModel(model: LanguageModelV4, signal: AbortSignal): Promise<ModelProbe> {
  const answer = await probeAnswer(model, signal);
  if (!answer.ok) return { findings: [answer], facts: {} };
  const context = await contextWindowOf(model, signal);
  const tools = await probeTools(model, signal);
  const images = await probeImages(model, signal);
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
    facts: {
      ...(context !== undefined && { context_tokens: context }),
      ...(tools.ok && { tools: profileOf(model).tools }),
      images: images.ok,
    },
  };
}

async function probeAnswer(model: LanguageModelV4, signal: AbortSignal): Promise<ProbeFinding> {
  const subject = 'answer';
  const start = performance.now();
  try {
    await ask(model, [text('Say OK.')], { maxOutputTokens: 16, abortSignal: signal });
    return { subject, ok: true, words: `answers within ${formatDuration(performance.now() - start)}` };
  } catch (error) {
    return { subject, ok: false, words: failureOf(error, signal) };
  }
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
    return { subject, ok: false, words: failureOf(error, signal) };
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
    return { subject, ok: false, words: isBlind ? 'sees no images' : failureOf(error, signal) };
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

function failureOf(error: unknown, signal: AbortSignal): string {
  return signal.aborted ? 'did not answer in the time for the trial' : toModelError(error).message;
}
