import {
  type ChatRequestBody,
  type DoorGateway,
  expectShown,
  loadDoorCases,
  loadWire,
  noTools,
  outcomeOf,
  startDoorGateway,
  startWireServer,
  temporaryDirectory,
  type Wire,
} from '@trunkline/testing';
import { afterAll, beforeAll, expect, it, onTestFinished, vi } from 'vitest';
import { askedFor, clientOf, DIMENSIONS, type Lab, researcher, startLab } from './fixtures/lab.ts';
import { startResearch } from './fixtures/service.ts';
import { JobStore } from './store/jobs.ts';

const [dimension = ''] = DIMENSIONS;
/** Whether sections were asked for as streams, so that a slow model is told from a stuck one. */
const streamed = new Set<boolean>();
let gateway: DoorGateway;
let lab: Lab;
beforeAll(async () => {
  // The model is the one that models.yaml names.
  lab = await startLab(() => ({
    LLM_GATEWAY_URL: '',
    LLM_API_KEY: '',
    LLM_MODEL: '',
    RESEARCH_SOURCES_PER_DIMENSION: '1',
    RESEARCH_MODEL_CHECKS: '0',
  }));
  gateway = await startDoorGateway(lab.home);
});
afterAll(async () => {
  await lab.stop();
  await gateway.server.stop();
});

/** One section meets the capture; all else is answered as usual. */
function isMeant(request: ChatRequestBody): boolean {
  const isPart = askedFor(request) === 'section' && String(request.messages[1]?.content).includes(dimension);
  if (isPart) streamed.add(request.stream === true);
  return isPart;
}

const usual = researcher();
const helper = (request: ChatRequestBody) => (isMeant(request) ? undefined : (usual(request) as string));

/**
 * Prompts of this small web are never too long: where a capture refuses long ones, it refuses the first. Where the window
 * is known, prompts are fitted into it before they are sent.
 */
function refusingFirst(wire: Wire): Wire {
  if (wire.routes !== undefined) return wire;
  const answers = wire.answers.map(({ when, ...answer }) =>
    when === undefined || when.longerThan !== undefined ? answer : { ...answer, when },
  );
  return { ...wire, answers };
}

async function research(wire: Wire) {
  await gateway.open(refusingFirst(wire), { helper, isMeant });
  const id = await lab.client.startJob({ query: 'tidal power' });
  const events = await lab.client.events(id);
  const snapshot = await lab.client.status(id);
  const [, section = ''] = String(snapshot.report).split(`## ${dimension}\n`);
  const paragraphs = (section.split('\n## ')[0] ?? '').trim().split('\n\n');
  // Beside the words of the model stands our own mark of a statement without a source.
  const isSame = (text: string) => text.replaceAll(' [?]', '') === wire.expect.text?.trim();
  const isNote = (paragraph: string) => /^_.*_$/s.test(paragraph);
  const written = snapshot.status === 'error' ? '' : paragraphs.filter((each) => !isNote(each)).join('\n\n');
  const told = events.filter(({ type }) => type === 'note').map(({ data }) => String(data.message));
  return {
    snapshot,
    told,
    shown: {
      text: isSame(written) ? String(wire.expect.text) : written,
      ...(snapshot.status === 'error' && { failure: String(snapshot.error) }),
      notes: [...told, ...paragraphs.filter(isNote)],
      isExtract: paragraphs[0]?.startsWith('_An extract') === true,
    },
  };
}

const cases = loadDoorCases('section').filter(({ outcome }) => outcome !== noTools);

it.each(cases)('a section over the wire of $name: $outcome', async ({ wire, outcome }) => {
  const { snapshot, shown } = await research(wire);
  expect(outcomeOf(wire, shown)).toBe(outcome);
  if (outcome.startsWith('answer')) expectShown(wire, shown);
  if (wire.name.includes('filter')) expect(shown.notes.join(' ')).toMatch(/content filter/i);
  const { usage } = wire.expect;
  if (usage !== undefined) expect(snapshot.estimated ?? false).toBe(usage === 'estimated');
  expect([...streamed]).toEqual([true]);
});

it('a job tells once that it waits for a model that is being loaded', async () => {
  const { told } = await research(loadWire('llamacpp/loading-model'));
  expect(told).toEqual([expect.stringContaining('is being loaded')]);
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
  const { snapshot } = await research(loadWire('llamacpp/loading-model'));
  expect(snapshot).toMatchObject({ status: 'complete' });
  expect(notes).toHaveLength(1);
});

it('the chat shows thoughts while they come, also without their opening tag', async () => {
  const thoughtful = loadWire('sglang/long-open-thoughts');
  const { promise: goOn, resolve } = Promise.withResolvers<void>();
  const server = await startWireServer(thoughtful, { silence: () => goOn });
  onTestFinished(() => server.stop());
  const home = temporaryDirectory();
  onTestFinished(() => home.remove());
  const service = await startResearch(home.path, {
    LLM_GATEWAY_URL: server.url,
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
