import { join } from 'node:path';
import {
  type Child,
  type ModelServer,
  type SearchServer,
  startChild,
  startModelServer,
  startSearchServer,
  temporaryDirectory,
  waitFor,
} from '@trunkline/testing';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Asked, clientOf, corpus, researcher, type SeenEvent } from './fixtures/lab.ts';
import { researchEnvironment } from './fixtures/service.ts';

/** It takes the bundle where that is fresh, as in a run of all tests. */
const launcher = join(import.meta.dirname, '../../bin/trunkline.js');
let search: SearchServer;
let model: ModelServer;
let stalled: Asked | undefined;
let isLong = false;
const asked: Asked[] = [];
const home = temporaryDirectory();
const children: Child[] = [];

beforeAll(async () => {
  search = await startSearchServer({ pages: corpus });
  model = await startModelServer({
    script: researcher((kind, request) => {
      asked.push(kind);
      if (kind === 'section' && isLong) return longSection(String(request.messages[1]?.content));
      return kind === stalled ? { fault: 'stall' } : undefined;
    }),
  });
});
afterAll(async () => {
  await Promise.all(children.map((child) => child.kill()));
  await Promise.all([model.stop(), search.stop()]);
  home.remove();
});

/** The service in a process of its own. */
async function startProcess(): Promise<{ child: Child; client: ReturnType<typeof clientOf> }> {
  const child = startChild(launcher, {
    arguments: ['research', '--port', '0'],
    directory: home.path,
    environment: {
      ...researchEnvironment(home.path),
      SEARXNG_URL: search.searxngUrl,
      LLM_GATEWAY_URL: model.url,
      LLM_API_KEY: 'key',
      LLM_MODEL: 'test-model',
    },
  });
  children.push(child);
  const url = await child.waitForLine(/^http:\/\//, 120_000);
  return { child, client: clientOf(url.trim()) };
}

const count = (kind: Asked) => asked.filter((one) => one === kind).length;

const phases: { phase: string; kind: Asked; lastEvent: string }[] = [
  { phase: 'scope', kind: 'scope', lastEvent: 'scope_started' },
  { phase: 'research', kind: 'summary', lastEvent: 'dimension_source' },
  { phase: 'evaluate', kind: 'gaps', lastEvent: 'evaluate_started' },
  { phase: 'synthesis', kind: 'section', lastEvent: 'synthesis_started' },
];

/** Two starts, on a busy machine. */

describe('a job whose process is killed', () => {
  let running: Awaited<ReturnType<typeof startProcess>>;

  it.each(phases)(
    'in phase $phase goes on after the next start, with no event lost or doubled',
    async ({ kind, lastEvent }) => {
      running ??= await startProcess();
      asked.length = 0;
      stalled = kind;
      const id = await running.client.startJob({ query: 'tidal power' });
      const before = await running.client.events(id, undefined, ({ type }) => type === lastEvent);
      await waitFor(() => asked.includes(kind));
      await running.child.kill('SIGKILL');
      const searched = searches();

      stalled = undefined;
      running = await startProcess();
      const last = before.at(-1)?.id ?? 0;
      const after = await running.client.events(id, last);
      const all = await running.client.events(id);
      expect(all.filter(({ id: number }) => number > last)).toEqual(after);
      expect(all.slice(0, before.length)).toEqual(before);
      assertWhole(all);
      const snapshot = await running.client.status(id);
      expect(snapshot).toMatchObject({ status: 'complete', phase: 'done', dimensionsComplete: 3 });
      expect(
        all
          .filter(({ type }) => type === 'synthesis_delta')
          .map(({ data }) => data.text)
          .join(''),
      ).toBe(snapshot.report);
      if (kind !== 'scope') expect(count('scope')).toBe(1);
      if (kind === 'gaps' || kind === 'section')
        expect([count('summary'), searches()]).toEqual([3, searched]);
    },
  );
});

it('a job whose process is killed while it sends the report goes on behind the last piece', async () => {
  await Promise.all(children.splice(0).map((child) => child.kill()));
  isLong = true;
  stalled = undefined;
  const first = await startProcess();
  const id = await first.client.startJob({ query: 'tidal power' });
  const before = await first.client.events(id, undefined, ({ type }) => type === 'synthesis_delta');
  await first.child.kill('SIGKILL');
  const killedAt = new Date().toISOString();
  const drafted = count('section');

  const second = await startProcess();
  await second.client.events(id, before.at(-1)?.id);
  const all = await second.client.events(id);
  const pieces = all.filter(({ type }) => type === 'synthesis_delta');
  expect(pieces.some(({ timestamp }) => timestamp < killedAt)).toBe(true);
  expect(pieces.some(({ timestamp }) => timestamp > killedAt)).toBe(true);
  expect(all.slice(0, before.length)).toEqual(before);
  assertWhole(all);
  const { report } = await second.client.status(id);
  expect(pieces.map(({ data }) => data.text).join('')).toBe(report);
  expect(String(report).match(/Fact \d+ of/g)?.length).toBe(3 * FACTS);
  expect(count('section')).toBe(drafted);
});

const FACTS = 400;
let facts = 0;

/** Paragraphs enough that the report takes a while to send; no sentence comes twice. */
function longSection(prompt: string): string {
  const number = /^\[(\d+)\]/m.exec(prompt)?.[1] ?? '';
  const fact = () => `Fact ${++facts} of this report stands in a source [${number}].`;
  return Array.from({ length: FACTS }, fact).join('\n\n');
}

const searches = () => search.requests.filter((request) => request.includes('/search?')).length;

/** Every step is told once. */
function assertWhole(events: readonly SeenEvent[]): void {
  const single = [
    'scope_started',
    'scope_complete',
    'evaluate_started',
    'evaluate_complete',
    'synthesis_started',
    'synthesis_complete',
    'done',
  ];
  for (const type of single)
    expect([type, events.filter((event) => event.type === type).length]).toEqual([type, 1]);
  for (const type of ['dimension_started', 'dimension_complete']) {
    const indexes = events.filter((event) => event.type === type).map(({ data }) => data.index);
    expect(indexes.toSorted()).toEqual([0, 1, 2]);
  }
  const sources = events
    .filter(({ type }) => type === 'dimension_source')
    .map(({ data }) => `${String(data.dimension)} ${String(data.url)}`);
  expect(new Set(sources).size).toBe(sources.length);
  expect(new Set(events.map(({ id }) => id)).size).toBe(events.length);
}
