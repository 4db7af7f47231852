import { once } from 'node:events';
import { existsSync, readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { createLogger, secretStoreOf } from '@trunkline/config';
import { recordRunning } from '@trunkline/service';
import { Setup } from '@trunkline/setup';
import {
  FakeGuild,
  startModelServer,
  startSearchServer,
  startSpeechServer,
  temporaryDirectory,
} from '@trunkline/testing';
import { expect, it, onTestFinished } from 'vitest';
import { modelStep } from './model-step.ts';
import { sandboxStep, serviceSteps } from './service-steps.ts';
import { RunningServices } from './services.ts';
import type { Terminal } from './terminal.ts';
import { directTrials } from './trials.ts';

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
  const key = ['3', server.url, 'wrong-key', 'sesame-key'];
  const terminal = answering(...key, 'lagre', 'n', '1', 'y', '2', '', '', '');
  expect(await modelStep(terminal, setup, signal)).toBe(true);
  expect(terminal.left).toEqual([]);
  const text = terminal.text();
  expect(text).toContain('wants a key');
  expect(text).toContain('refuses the key');
  expect(text).toContain('lagre is not on the list. Use it all the same?');
  expect(text).toMatch(/ok {4}tools +calls tools/);
  expect(text).toMatch(/ok {4}context +takes 32768 tokens/);
  expect(models()).toMatch(/chat:\n +model: large/);
  expect(models()).toContain('helper: small');
  expect(text + models()).not.toContain('sesame-key');

  const again = answering('');
  expect(await modelStep(again, setup, signal)).toBe(false);
  expect(again.text()).toContain(`Model: large at ${server.url}\n  helper: small`);

  const back = answering('5');
  expect(await modelStep(back, setup, signal)).toBe(true);
  expect(back.text()).toContain('the demo model answers');
  const { roles, steps } = await setup.view('trunkline');
  expect([roles.chat, steps.model]).toEqual([undefined, 'skipped']);
  expect(models()).not.toContain('large');
});

it('lets everything be skipped, and says what goes wrong on the way', async () => {
  const { home, setup } = open();
  const terminal = answering('9', '3', 'ftp://x', 'any', 'n', '4', join(home, 'none.gguf'), 'n', '2', '', '');
  expect(await modelStep(terminal, setup, signal)).toBe(false);
  const text = terminal.text();
  for (const words of ['a number from 1 to 4', 'is no address', 'There is no file'])
    expect(text).toContain(words);
  expect((await setup.view('trunkline')).steps.model).toBe('skipped');
});

it('sets speech, search and a connector without a service that runs, each tested first', async () => {
  const { home, env, setup } = open();
  const sound = new Uint8Array(480);
  const [guild, web, voice] = await Promise.all([
    FakeGuild.start({ 'sesame-discord': { id: '1', name: 'trunk' } }),
    startSearchServer({ pages: [{ path: '/oslo', title: 'Weather', text: 'The weather in Oslo.' }] }),
    startSpeechServer({ speech: [sound] }),
  ]);
  onTestFinished(async () => void (await Promise.all([guild.stop(), web.stop(), voice.stop()])));
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
  const services = new RunningServices(urls, home, env);
  const logger = createLogger({ name: 'test', destination: { write: () => undefined } });
  const own = { TTS_BACKEND: 'compat', TTS_COMPAT_URL: voice.url, CHAT_API_URL: guild.url };
  const direct = directTrials({ home, env: own, logger });
  const run = async (...answers: string[]) => {
    const terminal = answering(...answers);
    await serviceSteps({ terminal, setup, services, direct, home });
    expect(terminal.left).toEqual([]);
    return terminal.text();
  };
  const refused = await run('', '1', 'ftp://x', '1', 'wrong', '', '', 'n', '');
  expect(refused).toContain('"ftp://x" is no address');
  expect(refused).toContain('Discord: Discord refuses');
  expect(existsSync(join(home, 'settings.yaml'))).toBe(false);

  const text = await run(
    '2',
    '1',
    'y',
    '1',
    web.searxngUrl,
    '',
    'y',
    '1',
    'sesame-discord',
    '',
    '7',
    'y',
    '3',
  );
  expect(readFileSync(join(home, 'voice-test.wav')).length).toBe(44 + sound.length);
  expect(text).toMatch(/Weather {2}http/);
  expect(text).toContain('Discord: signed in as trunk');
  expect(text).toContain('It connects when the services start');
  expect(text).toContain(`"npm start", then open ${nowhere}/setup/result#reminder`);
  const settings = readFileSync(join(home, 'settings.yaml'), 'utf8');
  expect(settings).toMatch(/INPROC_VOICE: b\w_/);
  expect(settings).toContain(`SEARXNG_URL: ${web.searxngUrl}`);
  expect(settings).toContain('CHAT_BOT_TOKEN: ${secret:');
  expect(settings).not.toContain('sesame');
  expect((await setup.view('trunkline')).steps).toMatchObject({
    speech: 'done',
    search: 'done',
    connector: 'done',
    // The page makes the reminder, and marks it done.
    result: 'open',
  });
  // What the page has marked done stays so, whether another result is chosen or none.
  await setup.setSteps({ steps: { result: 'done' } });
  await run('', '', '', '');
  await run('', '', '', '2');
  expect((await setup.view('trunkline')).steps.result).toBe('done');
  const taken = directTrials({ home, env: { ...own, SEARXNG_URL: nowhere }, logger });
  await expect(taken.change({ SEARXNG_URL: 'http://other' })).rejects.toThrow(
    /SEARXNG_URL is set in the environment/,
  );
  await expect(direct.change({ SEARXNG_ULR: 'http://other' })).rejects.toThrow('did you mean SEARXNG_URL');
  expect(requests).toEqual([]);
});

it('offers what can be done where there is no sandbox, and saves only what works or was confirmed', async () => {
  const { home, env } = open();
  const logger = createLogger({ name: 'test', destination: { write: () => undefined } });
  const { change } = directTrials({ home, env, logger });
  const missing = { kind: 'none', isolated: false, refuses: true, words: 'none here.' } as const;
  const isolated = { kind: 'container', isolated: true, words: 'podman with the image debian.' } as const;
  const look = async (image?: string) => (image === 'debian' ? isolated : missing);
  const settings = () =>
    existsSync(join(home, 'settings.yaml')) ? readFileSync(join(home, 'settings.yaml'), 'utf8') : '';
  const run = async (...answers: string[]) => {
    const terminal = answering(...answers);
    await sandboxStep({ terminal, look, change });
    expect(terminal.left).toEqual([]);
    return terminal.text();
  };
  expect(await run('')).toContain('Sandbox: none here.');
  await run('2', '');
  await run('1', 'debain', '');
  expect(settings()).toBe('');
  expect(await run('1', 'debain', 'debian')).toContain('podman with the image debian');
  expect(settings()).toContain('SANDBOX_IMAGE: debian');
  expect(await run('2', 'y')).toContain('Saved.');
  expect(settings()).toMatch(/TRUNKLINE_SANDBOX: "?off"?/);
  const taken = directTrials({ home, env: { ...env, TRUNKLINE_SANDBOX: 'auto' }, logger });
  const terminal = answering('2', 'y');
  await sandboxStep({ terminal, look, change: taken.change });
  expect(terminal.text()).toContain('TRUNKLINE_SANDBOX is set in the environment');
});

it('a machine too busy to make a sandbox is no reason to do without one', async () => {
  const terminal = answering('2', 'y');
  const look = async () => ({
    kind: 'none' as const,
    isolated: false,
    refuses: true,
    isBusy: true,
    words: 'none: it took longer than 10 s.',
    advice: 'The machine is too busy for a sandbox; try again later.',
  });
  const change = () => Promise.reject(new Error('nothing may be saved'));
  await sandboxStep({ terminal, look, change });
  expect(terminal.left).toEqual(['2', 'y']);
  expect(terminal.text()).toContain('try again later');
});

it('a service that restarts for what was just set still runs', async () => {
  const { home, env } = open();
  const server = createServer((_, response) => void response.end('{}'));
  onTestFinished(() => void server.close());
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const url = `http://127.0.0.1:${port}`;
  const services = new RunningServices(
    { voice: url, agent: url, research: url, switchboard: url },
    home,
    env,
  );
  expect(await services.isRunning('research')).toBe(false);
  const record = await recordRunning(home, [{ name: 'research', url }]);
  onTestFinished(record.remove);
  expect(await services.isRunning('research')).toBe(true);
  server.close();
  server.closeAllConnections();
  const running = services.isRunning('research');
  await expect(fetch(url)).rejects.toThrow();
  server.listen(port, '127.0.0.1');
  expect(await running).toBe(true);
});
