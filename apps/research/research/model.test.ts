import { anonymous } from '@trunkline/identity';
import { createModelGateway, type ModelGateway } from '@trunkline/llm';
import { MockLanguageModelV4 } from 'ai/test';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { ResearchModel } from './model.ts';

type Stream = Awaited<ReturnType<MockLanguageModelV4['doStream']>>['stream'];
type Part = Stream extends ReadableStream<infer Item> ? Item : never;

const usage = {
  inputTokens: { total: 10, noCache: 10, cacheRead: undefined, cacheWrite: undefined },
  outputTokens: { total: 5, text: 5, reasoning: undefined },
};
const end: Part = { type: 'finish', finishReason: { unified: 'stop', raw: undefined }, usage };

beforeEach(() => void vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] }));
afterEach(() => void vi.useRealTimers());

interface Waiting {
  silentMs?: number;
  /** A model whose place is known, and with it how long its first token may take. */
  place?: object;
  /** Only the first piece is late. */
  isLate?: boolean;
}

/** A model that sends a piece after every pause; it heeds its signal. */
function slowModel(
  parts: Part[],
  pauseMs: number,
  { silentMs, place, isLate }: Waiting = { silentMs: 60_000 },
) {
  let pieces = 0;
  const doStream = async ({ abortSignal }: { abortSignal?: AbortSignal | undefined }) => ({
    stream: new ReadableStream<Part>({
      pull(controller) {
        pieces += 1;
        vi.advanceTimersByTime(isLate && pieces > 1 ? 0 : pauseMs);
        const part = parts.shift();
        if (abortSignal?.aborted) controller.error(abortSignal.reason);
        else if (part === undefined) controller.close();
        else controller.enqueue(part);
      },
    }),
  });
  const model = { ...place, ...new MockLanguageModelV4({ doStream }) };
  const gateway = {
    languageModel: () => model,
    describe: () => ({ name: 'mock', demo: true, url: undefined }),
  };
  return new ResearchModel(gateway as unknown as ModelGateway, 1, undefined, silentMs);
}

const ask = (model: ResearchModel, spent: number[] = []) =>
  model.text({
    instructions: 'Write.',
    prompt: 'A section.',
    signal: new AbortController().signal,
    principal: anonymous,
    onSpent: ({ tokens }) => spent.push(tokens),
  });

it('waits for a slow model as long as pieces come, and counts what it used', async () => {
  const parts = Array.from({ length: 12 }, (): Part => ({ type: 'text-delta', id: 't', delta: 'word ' }));
  const spent: number[] = [];
  expect(await ask(slowModel([...parts, end], 20_000), spent)).toBe('word '.repeat(12));
  expect(spent).toEqual([15]);
});

it('gives up a model that sends nothing any more, and names the setting', async () => {
  const failing = ask(slowModel([{ type: 'text-delta', id: 't', delta: 'Half' }, end], 61_000));
  await expect(failing).rejects.toMatchObject({
    code: 'timeout',
    message: expect.stringContaining('RESEARCH_MODEL_TIMEOUT_S'),
  });
});

it('passes on the failure of a stream that breaks off', async () => {
  const failure = new Error('gone');
  await expect(ask(slowModel([{ type: 'error', error: failure }, end], 1))).rejects.toBe(failure);
});

const local = createModelGateway({ url: 'http://127.0.0.1:9/v1', model: 'large' }).languageModel();

it.each([
  ['waits for a model on this machine as long as it may take to begin', local, 800_000, 'resolves'],
  ['gives it up after that', local, 1_000_000, 'rejects'],
  ['gives up others after ten minutes', undefined, 800_000, 'rejects'],
])('where no limit is set: %s', async (_, place, pauseMs, outcome) => {
  const parts: Part[] = [{ type: 'text-delta', id: 't', delta: 'Late.' }, end];
  const asked = ask(slowModel(parts, pauseMs, { isLate: true, ...(place && { place }) }));
  if (outcome === 'resolves') expect(await asked).toBe('Late.');
  else await expect(asked).rejects.toMatchObject({ code: 'timeout' });
});
