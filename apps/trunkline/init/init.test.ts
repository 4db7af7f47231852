import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { createLogger, secretStoreOf } from '@trunkline/config';
import { Setup } from '@trunkline/setup';
import { startModelServer, temporaryDirectory } from '@trunkline/testing';
import { expect, it, onTestFinished } from 'vitest';
import { modelStep } from './model-step.ts';
import { serviceSteps } from './service-steps.ts';
import { RunningServices } from './services.ts';
import type { Terminal } from './terminal.ts';

const { signal } = new AbortController();

function open() {
  const home = temporaryDirectory();
  onTestFinished(home.remove);
  const env = { TRUNKLINE_HOME: home.path };
  const options = {
    trunklineHome: home.path,
    llmGatewayUrl: undefined,
    llmModel: undefined,
    llmFastModel: undefined,
    llmJudgeModel: undefined,
    llmVisionModel: undefined,
    llmGguf: undefined,
  };
  const logger = createLogger({ name: 'test', destination: { write: () => undefined } });
  const setup = new Setup({ options, secrets: secretStoreOf(env), env, logger });
  return { home: home.path, env, setup, models: () => readFileSync(join(home.path, 'models.yaml'), 'utf8') };
}

/** Somebody who gives these answers one by one, and then none. */
function answering(...answers: string[]): Terminal & { text(): string; left: string[] } {
  const said: string[] = [];
  return {
    left: answers,
    text: () => said.join('\n'),
    say: (text) => void said.push(text),
    ask: async (question, { hidden = false } = {}) => {
      const answer = answers.shift();
      said.push(`${question}${hidden ? '' : answer}`);
      return answer;
    },
  };
}

it('asks for an address and a key, tests the model that was chosen, and saves it with one for another role', async () => {
  const server = await startModelServer({
    apiKey: 'sesame-key',
    models: ['large', 'small'],
    contextTokens: 32_768,
    script: ({ tools }) =>
      tools === undefined ? 'Red.' : { toolCalls: [{ name: 'get_weather', arguments: { city: 'Oslo' } }] },
  });
  onTestFinished(() => server.stop());
  const { setup, models } = open();
  const terminal = answering('3', server.url, 'wrong-key', 'sesame-key', '1', 'y', '2', '', '', '');
  expect(await modelStep(terminal, setup, signal)).toBe(true);
  expect(terminal.left).toEqual([]);
  const text = terminal.text();
  expect(text).toContain('wants a key');
  expect(text).toContain('refuses the key');
  expect(text).toMatch(/ok {4}tools +calls tools/);
  expect(text).toMatch(/ok {4}context +takes 32768 tokens/);
  expect(models()).toMatch(/chat:\n +model: large/);
  expect(models()).toContain('helper: small');
  expect(text + models()).not.toContain('sesame-key');

  const again = answering('');
  expect(await modelStep(again, setup, signal)).toBe(false);
  expect(again.text()).toContain(`Model: large at ${server.url}\n  helper: small`);
});

it('lets everything be skipped, and says what goes wrong on the way', async () => {
  const { home, env, setup } = open();
  const terminal = answering('9', '3', 'ftp://x', 'any', 'n', '4', join(home, 'none.gguf'), 'n', '2', '', '');
  expect(await modelStep(terminal, setup, signal)).toBe(false);
  const text = terminal.text();
  for (const words of ['a number from 1 to 4', 'is no address', 'There is no file'])
    expect(text).toContain(words);
  expect((await setup.view('trunkline')).steps.model).toBe('skipped');

  // A stranger on all four ports is none of ours, and gets no request, so no key and nothing that is typed.
  const requests: string[] = [];
  const stranger = createServer((request, response) => {
    requests.push(request.url ?? '');
    response.end('{"overrides":[]}');
  });
  onTestFinished(() => void stranger.close());
  await once(stranger.listen(0, '127.0.0.1'), 'listening');
  const nowhere = `http://127.0.0.1:${(stranger.address() as AddressInfo).port}`;
  const urls = { voice: nowhere, agent: nowhere, research: nowhere, switchboard: nowhere };
  const quiet = answering();
  await serviceSteps({ terminal: quiet, setup, services: new RunningServices(urls, home, env), home });
  expect(quiet.text()).toContain('none runs. Start the services with "npm start"');
  expect(requests).toEqual([]);
});
