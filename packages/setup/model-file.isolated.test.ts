import { join } from 'node:path';
import { createLogger, secretStoreOf } from '@trunkline/config';
import { findModelFile } from '@trunkline/gguf';
import { temporaryDirectory, writeTinyGguf } from '@trunkline/testing';
import { expect, it, onTestFinished } from 'vitest';
import { Setup } from './index.ts';

const { signal } = new AbortController();
const logger = createLogger({ name: 'test', destination: { write: () => undefined } });

it('tests a model file with the real llama.cpp, and sets it for all services', async () => {
  const home = temporaryDirectory();
  onTestFinished(home.remove);
  const env = { TRUNKLINE_HOME: home.path };
  const file = join(home.path, 'elsewhere.gguf');
  writeTinyGguf(file);
  const unset = { llmGatewayUrl: undefined, llmModel: undefined, llmGguf: undefined };
  const options = {
    // Threads that wait for each other on busy cores take most of the time.
    ...{ trunklineHome: home.path, ...unset, llmGgufThreads: 1 },
    ...{ llmFastModel: undefined, llmJudgeModel: undefined, llmVisionModel: undefined },
  };
  const setup = new Setup({ options, secrets: secretStoreOf(env), env, logger });
  const tested = await setup.test({ file }, signal);
  expect(tested).toMatchObject({ ok: true, contextTokens: expect.any(Number) });
  expect(tested.findings.find(({ subject }) => subject === 'images')?.ok).toBe(false);

  await setup.save({ role: 'chat', file });
  const view = await setup.view('voice');
  expect([view.file, view.steps.model]).toEqual([file, 'done']);
  expect(findModelFile(options, env)).toBe(file);
});
