import {
  type ChatRequestBody,
  loadWire,
  loadWiresForAnyModel,
  startWireServer,
  temporaryDirectory,
  type WireServer,
} from '@trunkline/testing';
import { afterAll, beforeAll, expect, it, onTestFinished, vi } from 'vitest';
import { askedFor, clientOf, type Lab, researcher, startLab } from './fixtures/lab.ts';
import { startResearch } from './fixtures/service.ts';
import { JobStore } from './store/jobs.ts';

/** Endpoints that send a whole document, whatever is asked for. */
const names = [
  'tgi/whole-json',
  'ollama/whole-think-tags',
  'deepseek/whole-reasoning',
  'mistral/whole-thinking-parts',
];
const refusal = loadWire('bedrock/detail-words');
/** A refusal is the same with and without a stream. */
const refusals = loadWiresForAnyModel().filter(
  ({ answers: [answer], expect: { error } }) => error !== undefined && (answer?.status ?? 200) >= 400,
);

/** The sentences that the model was made to write. */
const written = new Set<string>();
/** Whether sections were asked for as streams, so that a slow model is told from a stuck one. */
const streamed = new Set<boolean>();
let wire = refusal;
/** The endpoint does not count the tokens of sections. */
let isUncounted = false;
/** The next request finds a model that is being loaded. */
let isLoading = false;
let server: WireServer;
let lab: Lab;
beforeAll(async () => {
  server = await startWireServer({ ...wire, path: '/v1' }, { helper });
  lab = await startLab(() => ({ LLM_GATEWAY_URL: server.url }));
});
afterAll(async () => {
  await lab.stop();
  await server.stop();
});

/** Sections come over the wire of the capture with words that fit the question; all else as usual. */
function helper(request: ChatRequestBody) {
  const [waiting] = loadWire('llamacpp/loading-model').answers;
  if (isLoading && waiting) {
    isLoading = false;
    return { ...waiting, headers: { 'retry-after': '1' } };
  }
  const reply = researcher()(request) as string;
  const [answer] = wire.answers;
  if (askedFor(request) !== 'section' || answer === undefined) return reply;
  streamed.add(request.stream === true);
  written.add(reply);
  const { text } = wire.expect;
  if (text === undefined) return answer;
  const body = String(answer.body).replace(
    JSON.stringify(text).slice(1, -1),
    JSON.stringify(reply).slice(1, -1),
  );
  const counted = isUncounted ? JSON.stringify({ ...JSON.parse(body), usage: undefined }) : body;
  return { headers: { 'content-type': 'application/json' }, ...answer, body: counted };
}

async function run(played: string) {
  wire = loadWire(played);
  written.clear();
  const id = await lab.client.startJob({ query: 'tidal power' });
  await lab.client.events(id);
  return { snapshot: await lab.client.status(id) };
}

it.each(names)('a section is written from the words of %s', async (name) => {
  const { snapshot } = await run(name);
  expect(snapshot).toMatchObject({ status: 'complete' });
  expect(snapshot).not.toHaveProperty('estimated');
  const report = String(snapshot.report);
  expect([...streamed]).toEqual([true]);
  for (const sentence of written) expect(report).toContain(sentence.replace(/\. \[\d+\]$/, ''));
  expect(report).not.toMatch(/think|Compare the tenths/);
});

it('a job says that it waits for a model that is being loaded, and which tokens nobody counted', async () => {
  wire = loadWire('tgi/whole-json');
  isLoading = true;
  isUncounted = true;
  const id = await lab.client.startJob({ query: 'tidal power' });
  const notes = (await lab.client.events(id)).filter(({ type }) => type === 'note');
  expect(notes.map(({ data }) => data)).toEqual([{ message: expect.stringContaining('is being loaded') }]);
  expect(await lab.client.status(id)).toMatchObject({ status: 'complete', estimated: true });
  isUncounted = false;
});

it('a job whose note cannot be stored goes on without it', async () => {
  const { commit } = JobStore.prototype;
  const notes: unknown[] = [];
  const spy = vi.spyOn(JobStore.prototype, 'commit').mockImplementation(function (this: JobStore, ...given) {
    const [, [event]] = given;
    if (event?.type !== 'note') return commit.apply(this, given);
    notes.push(event.data);
    throw new Error('database or disk is full');
  });
  onTestFinished(() => spy.mockRestore());
  isLoading = true;
  const { snapshot } = await run('tgi/whole-json');
  expect(snapshot).toMatchObject({ status: 'complete' });
  expect(notes).toHaveLength(1);
});

it.each(refusals)('a section that $name refuses fails in its words', async ({ name, expect: { error } }) => {
  const { snapshot } = await run(name);
  expect(snapshot.status).toBe('error');
  for (const words of error?.says ?? []) expect(String(snapshot.error)).toContain(words);
});

it('the chat shows thoughts while they come, also without their opening tag', async () => {
  const thoughtful = loadWire('sglang/long-open-thoughts');
  const { promise: goOn, resolve } = Promise.withResolvers<void>();
  const gateway = await startWireServer(thoughtful, { silence: () => goOn });
  onTestFinished(() => gateway.stop());
  const home = temporaryDirectory();
  onTestFinished(() => home.remove());
  const service = await startResearch(home.path, {
    LLM_GATEWAY_URL: gateway.url,
    LLM_MODEL: thoughtful.model,
  });
  onTestFinished(() => service.stop());
  const ask = { messages: [{ role: 'user', content: thoughtful.ask }] };
  const { body } = await clientOf(service.url).post('/api/chat', ask);
  let shown = '';
  for await (const bytes of body as AsyncIterable<Uint8Array>) {
    shown += Buffer.from(bytes).toString();
    if (/^g:.*9\.80/m.test(shown)) resolve();
  }
  const textOf = (prefix: string) =>
    shown
      .split('\n')
      .filter((line) => line.startsWith(`${prefix}:`))
      .map((line) => JSON.parse(line.slice(2)) as string)
      .join('');
  expect([textOf('0'), textOf('g').trim()]).toEqual([thoughtful.expect.text, thoughtful.expect.reasoning]);
});
