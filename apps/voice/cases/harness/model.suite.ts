import type { Clock } from '@trunkline/schedule';
import type { Model } from '../../turn/persona.ts';

type StreamOptions = Parameters<Model['doStream']>[0];
type StreamPart =
  Awaited<ReturnType<Model['doStream']>>['stream'] extends ReadableStream<infer Part> ? Part : never;

/** One answer of the model. */
export interface ScriptedAnswer {
  /** Words of the caller that it answers, or the tool whose result; any where neither is given. */
  to?: string | undefined;
  result_of?: string | undefined;
  text?: string | undefined;
  tool?: string | undefined;
  /** Milliseconds until the first token, and from one to the next. */
  after?: number | undefined;
  every?: number | undefined;
  /** Fails instead. */
  fails?: boolean | undefined;
}

export interface ScriptedModel {
  model: Model;
  /** The prompts it was asked with. */
  prompts: StreamOptions['prompt'][];
  /** How many of its answers were given up before their end. */
  abandoned(): number;
}

const usage = {
  inputTokens: { total: 1, noCache: 1, cacheRead: 0, cacheWrite: 0 },
  outputTokens: { total: 1, text: 1, reasoning: 0 },
};

/** Answers as the script says, token by token on the case's clock. */
export function scriptedModel(answers: readonly ScriptedAnswer[], clock: Clock): ScriptedModel {
  const prompts: StreamOptions['prompt'][] = [];
  let [asked, abandoned] = [0, 0];
  const wait = (ms: number) => new Promise<void>((resolve) => void clock.setTimer(ms, resolve));
  async function* parts(answer: ScriptedAnswer, { abortSignal }: StreamOptions): AsyncGenerator<StreamPart> {
    const stop = () => {
      if (abortSignal?.aborted) abandoned += 1;
      abortSignal?.throwIfAborted();
    };
    yield { type: 'stream-start', warnings: [] };
    await wait(answer.after ?? 150);
    stop();
    if (answer.fails) throw new Error('the model is out of order');
    if (answer.text !== undefined) {
      yield { type: 'text-start', id: 't' };
      for (const delta of answer.text.match(/\s*\S+/g) ?? []) {
        yield { type: 'text-delta', id: 't', delta };
        await wait(answer.every ?? 20);
        stop();
      }
      yield { type: 'text-end', id: 't' };
    }
    if (answer.tool !== undefined)
      yield { type: 'tool-call', toolCallId: `call-${asked}`, toolName: answer.tool, input: '{}' };
    const unified = answer.tool === undefined ? 'stop' : 'tool-calls';
    yield { type: 'finish', finishReason: { unified, raw: unified }, usage };
  }
  const model: Model = {
    specificationVersion: 'v4',
    provider: 'script',
    modelId: 'script',
    supportedUrls: {},
    async doGenerate() {
      const content = [{ type: 'text' as const, text: 'They talked about many things.' }];
      return { content, finishReason: { unified: 'stop', raw: 'stop' }, usage, warnings: [] };
    },
    async doStream(options) {
      prompts.push(options.prompt);
      asked += 1;
      const answer = choose(answers, options.prompt);
      return { stream: streamOf(parts(answer, options)) };
    },
  };
  return { model, prompts, abandoned: () => abandoned };
}

function choose(answers: readonly ScriptedAnswer[], prompt: StreamOptions['prompt']): ScriptedAnswer {
  const last = prompt.at(-1);
  if (last?.role === 'tool') {
    const names = last.content.map((part) => ('toolName' in part ? part.toolName : ''));
    return answers.find(({ result_of: tool }) => tool !== undefined && names.includes(tool)) ?? {};
  }
  const asked = answers.filter(({ result_of: tool }) => tool === undefined);
  const said = JSON.stringify(last?.content ?? '').toLowerCase();
  const named = asked.find(({ to }) => to !== undefined && said.includes(to.toLowerCase()));
  return named ?? asked.find(({ to }) => to === undefined) ?? {};
}

function streamOf(parts: AsyncGenerator<StreamPart>): ReadableStream<StreamPart> {
  return new ReadableStream({
    async pull(controller) {
      const { done, value } = await parts.next();
      if (done) controller.close();
      else controller.enqueue(value);
    },
  });
}
