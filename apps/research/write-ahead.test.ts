import { waitFor } from '@trunkline/testing';
import { afterAll, afterEach, beforeAll, expect, it } from 'vitest';
import { askedFor, DIMENSIONS, type Lab, startLab } from './fixtures/lab.ts';

let lab: Lab;
let { client, model } = {} as Lab;

beforeAll(async () => {
  lab = await startLab();
  ({ client, model } = lab);
});
afterEach(() => lab.reset());
afterAll(() => lab.stop());

const asked = (kind: string) => model.chats().filter((chat) => askedFor(chat) === kind).length;
const noGaps = JSON.stringify({ gaps: [] });

/** The evaluation waits until the test lets it go on. */
function holdEvaluation(): void {
  model.requests.length = 0;
  lab.script.replace = (kind) => (kind === 'gaps' ? { fault: 'stall', answer: noGaps } : undefined);
}

it('sections are written while gaps are still looked for, each once', async () => {
  holdEvaluation();
  const id = await client.startJob({ query: 'tidal power' });
  await waitFor(() => asked('section') === DIMENSIONS.length);
  expect(await client.status(id)).toMatchObject({ phase: 'evaluate' });
  model.release();
  const events = await client.events(id);
  expect(events.at(-1)?.type).toBe('done');
  expect(await client.status(id)).toMatchObject({ status: 'complete' });
  expect(asked('section')).toBe(DIMENSIONS.length);
});

it('sections of an earlier pass are kept when a gap leads back to research', async () => {
  model.requests.length = 0;
  let pass = 0;
  lab.script.replace = (kind) =>
    kind === 'gaps' ? JSON.stringify({ gaps: pass++ === 0 ? ['Fish and tidal power'] : [] }) : undefined;
  const id = await client.startJob({ query: 'tidal power' });
  await client.events(id);
  expect(await client.status(id)).toMatchObject({ status: 'complete', dimensionsTotal: 4 });
  expect(asked('section')).toBe(4);
});

interface LogLine {
  level: string;
  msg: string;
  researchId: string;
  section: string;
  err: { message: string };
}

const earlyFailures = () =>
  lab.log
    .map((line) => JSON.parse(line) as LogLine)
    .filter(({ msg }) => msg.includes('failed to write section ahead'));

it('a section that failed early is logged, and tried again when the report is due', async () => {
  holdEvaluation();
  const hold = lab.script.replace;
  let failures = 0;
  lab.script.replace = (kind, request) =>
    kind === 'section' && failures < DIMENSIONS.length
      ? { fault: 'status', status: 401, message: `refused ${++failures}` }
      : hold(kind, request);
  const id = await client.startJob({ query: 'tidal power' });
  await waitFor(() => failures === DIMENSIONS.length);
  await waitFor(() => earlyFailures().length === DIMENSIONS.length);
  for (const line of earlyFailures())
    expect(line).toMatchObject({
      level: 'warning',
      researchId: id,
      err: { message: expect.stringContaining('LLM_API_KEY') },
    });
  expect(earlyFailures().map(({ section }) => section)).toEqual(expect.arrayContaining(DIMENSIONS));
  model.release();
  await client.events(id);
  expect(await client.status(id)).toMatchObject({ status: 'complete' });
  expect(asked('section')).toBe(2 * DIMENSIONS.length);
});

it('a limit of tokens keeps sections until the evaluation is done', async () => {
  holdEvaluation();
  const id = await client.startJob({ query: 'tidal power', budget: { tokens: 1_000_000 } });
  await waitFor(() => asked('gaps') === 1);
  expect(asked('section')).toBe(0);
  model.release();
  await client.events(id);
  expect(await client.status(id)).toMatchObject({ status: 'complete' });
});

it('a job that is cancelled while gaps are looked for stops its sections too', async () => {
  model.requests.length = 0;
  lab.script.replace = (kind) => (kind === 'gaps' || kind === 'section' ? { fault: 'stall' } : undefined);
  const id = await client.startJob({ query: 'tidal power' });
  await waitFor(() => asked('section') === DIMENSIONS.length);
  await fetch(`${lab.url}/api/research/deep/${id}`, { method: 'DELETE' });
  const events = await client.events(id);
  expect(events.at(-1)?.type).toBe('done');
  const open = model.requests.filter(({ body }) => body !== undefined && isHeld(body));
  await waitFor(() => open.every(({ abandoned }) => abandoned));
  expect(open).toHaveLength(DIMENSIONS.length + 1);
  expect(earlyFailures()).toEqual([]);
});

function isHeld(body: unknown): boolean {
  return ['gaps', 'section'].includes(askedFor(body as Parameters<typeof askedFor>[0]));
}
