import type { Service } from '@trunkline/service';
import { type SearchServer, startSearchServer, temporaryDirectory } from '@trunkline/testing';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { clientOf, corpus, type SeenEvent } from './fixtures/lab.ts';
import { startResearch } from './fixtures/service.ts';

const home = temporaryDirectory();
let search: SearchServer;
let service: Service;
let client: ReturnType<typeof clientOf>;
let id: string;
let events: SeenEvent[];

beforeAll(async () => {
  search = await startSearchServer({ pages: corpus });
  service = await startResearch(home.path, {
    SEARXNG_URL: search.searxngUrl,
    ENCYCLOPEDIA_URL: search.encyclopediaUrl,
  });
  client = clientOf(service.url);
  id = await client.startJob({ query: 'tidal power', sessionId: 's1' });
  events = await client.events(id);
});
afterAll(async () => {
  await service.stop();
  await search.stop();
  home.remove();
});

const ofType = (type: string) => events.filter((event) => event.type === type);

describe('a research job', () => {
  it('is started in the background at once [A008] [A139]', async () => {
    const response = await client.post('/api/research/deep', { query: 'tidal power stations' });
    expect(response.status).toBe(200);
    const body = (await response.json()) as { researchId: string };
    expect(body).toEqual({ researchId: expect.any(String), status: 'started' });
    expect(await client.status(body.researchId)).toMatchObject({ status: 'running' });
    await client.events(body.researchId);
  });

  it('tells of its phases in order [A113] [A114] [A115] [A140]', () => {
    const order = [
      'scope_started',
      'scope_complete',
      'dimension_started',
      'dimension_source',
      'dimension_complete',
      'evaluate_started',
      'evaluate_complete',
      'synthesis_started',
      'synthesis_delta',
      'synthesis_complete',
      'done',
    ];
    const firsts = [...new Set(events.map(({ type }) => type))];
    expect(firsts).toEqual(order);
    expect(events.at(-1)?.type).toBe('done');
    expect(events.every(({ timestamp }) => !Number.isNaN(Date.parse(timestamp)))).toBe(true);
    expect(events.map((event) => event.id)).toEqual(
      events.map((event) => event.id).toSorted((a, b) => a - b),
    );
  });

  it('gives each event the data of the contract [A162] [A163] [A164] [A165] [A166]', () => {
    expect(ofType('scope_started')[0]?.data).toEqual({ query: 'tidal power' });
    const { dimensions } = ofType('scope_complete')[0]!.data as { dimensions: string[] };
    expect(dimensions.length).toBeGreaterThanOrEqual(3);
    expect(dimensions.length).toBeLessThanOrEqual(6);
    expect(ofType('dimension_started').map(({ data }) => data)).toEqual(
      dimensions.map((dimension, index) => ({ dimension, index })),
    );
    for (const { data } of ofType('dimension_source'))
      expect(data).toMatchObject({
        title: expect.any(String),
        url: expect.stringMatching(/^http/),
        snippet: expect.any(String),
        dimension: expect.any(String),
      });
    for (const { data } of ofType('dimension_complete'))
      expect(data).toMatchObject({
        dimension: expect.any(String),
        summary: expect.any(String),
        keyFinding: expect.any(String),
        sourceCount: expect.any(Number),
      });
  });

  it('tells of evaluation and synthesis [A167] [A168] [A169] [A170] [A171] [A173]', async () => {
    expect(ofType('evaluate_started')[0]?.data).toEqual({ iteration: 1 });
    expect(ofType('evaluate_complete')[0]?.data).toMatchObject({
      gaps: [],
      hasGaps: false,
      stopReason: 'no-gaps',
    });
    expect(ofType('synthesis_started')[0]?.data).toBeUndefined();
    const text = ofType('synthesis_delta')
      .map(({ data }) => data.text)
      .join('');
    expect(text).toBe((await client.status(id)).report);
    expect(ofType('synthesis_complete')[0]?.data).toMatchObject({ sourceCount: expect.any(Number) });
    expect(ofType('done')[0]?.data).toEqual({ researchId: id });
  });

  it('shows its state in a snapshot [A098] [A099] [A100] [A101] [A102] [A103] [A104] [A116] [A141]', async () => {
    const snapshot = await client.status(id);
    expect(snapshot).toMatchObject({
      researchId: id,
      status: 'complete',
      phase: 'done',
      dimensionsTotal: 4,
      dimensionsComplete: 4,
      citations: { total: expect.any(Number), supported: expect.any(Number) },
      report: expect.stringContaining('## Sources'),
    });
    expect(snapshot.sourceCount).toBeGreaterThan(2);
  });

  it('ties each citation of the report to a passage of the stored text, and all hold', async () => {
    const { citations } = (await client.status(id)) as { citations: { total: number; supported: number } };
    expect(citations.total).toBeGreaterThan(3);
    expect(citations.supported).toBe(citations.total);
    const evidence = (await client.json(`/api/research/deep/${id}/evidence`)) as unknown as {
      sources: { id: number; state: string; duplicateOf: number | null; url: string }[];
      claims: { sentence: string; passage: string; sourceId: number; passageStart: number }[];
    };
    for (const claim of evidence.claims) {
      expect(claim.passage).toContain(claim.sentence.slice(0, 30));
      expect(evidence.sources.some((source) => source.id === claim.sourceId && source.state === 'read')).toBe(
        true,
      );
    }
    const copy = evidence.sources.find(({ url }) => url.endsWith('/copy-of-costs') || url.endsWith('/costs'));
    expect(copy).toBeDefined();
    expect(evidence.sources.some(({ state }) => state === 'duplicate')).toBe(true);
  });

  it('says that the demo model wrote it', async () => {
    expect((await client.status(id)).report).toContain('offline demo model');
  });

  it('replays for whoever comes late, and goes on behind Last-Event-ID', async () => {
    expect(await client.events(id)).toEqual(events);
    const middle = events[Math.floor(events.length / 2)]?.id ?? 0;
    expect(await client.events(id, middle)).toEqual(events.filter((event) => event.id > middle));
    expect(await client.events(id, events.at(-1)?.id)).toEqual([]);
  });

  it('stays as it is when it is cancelled after its end [A142]', async () => {
    const response = await fetch(`${service.url}/api/research/deep/${id}`, { method: 'DELETE' });
    expect(response.status).toBe(204);
    expect(await client.status(id)).toMatchObject({ status: 'complete' });
  });

  it.each([
    'GET /api/research/deep/x',
    'GET /api/research/deep/x/status',
    'GET /api/research/deep/x/evidence',
    'DELETE /api/research/deep/x',
    'POST /api/research/deep/x/plan {"dimensions":["a"]}',
    'POST /api/research/deep/x/resume {}',
    'POST /api/research/deep/x/rerun {}',
    'GET /api/research/deep/x/questions',
    'POST /api/research/deep/x/questions {"question":"why?"}',
    'POST /api/research/deep/x/share {}',
    'DELETE /api/research/deep/x/share',
    'GET /api/research/deep/x/export?format=md',
  ])('answers %s with 404', async (request) => {
    const [method = '', path = '', body] = request.split(' ');
    const response = await fetch(`${service.url}${path}`, {
      method,
      ...(body !== undefined && { body, headers: { 'content-type': 'application/json' } }),
    });
    expect(response.status).toBe(404);
    expect(await response.json()).toEqual({ error: 'Research not found' });
  });

  it.each([
    {},
    { query: 'x' },
    { query: 'y'.repeat(2001) },
    { query: 5 },
    { query: 'tides', budget: { seconds: -1 } },
    { query: 'tides', sources: ['library'] },
  ])('refuses %j with 400', async (body) => {
    const response = await client.post('/api/research/deep', body);
    expect(response.status).toBe(400);
    expect(await response.json()).toEqual({ error: expect.any(String) });
  });
});
