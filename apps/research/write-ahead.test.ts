import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { waitFor } from '@trunkline/testing';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { askedFor, DIMENSIONS, type Lab, startLab } from './fixtures/lab.ts';

describe('write ahead', () => {
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
});

describe('full disk', () => {
  let lab: Lab;
  let drafts = 0;

  beforeAll(async () => {
    lab = await startLab(undefined, (asked) => {
      if (asked !== 'section') return undefined;
      drafts += 1;
      return drafts <= DIMENSIONS.length ? { fault: 'stall' } : undefined;
    });
  });
  afterAll(() => lab.stop());

  it('a job that cannot be stored for a while ends neither the service nor itself', async () => {
    const id = await lab.client.startJob({ query: 'tidal power' });
    await waitFor(() => drafts === DIMENSIONS.length);
    const database = new DatabaseSync(join(lab.home, 'research/research.db'));
    database.exec(
      "CREATE TRIGGER full BEFORE UPDATE ON jobs BEGIN SELECT RAISE(ABORT, 'database or disk is full'); END",
    );
    lab.model.release();
    // Drafts that were lost are asked for again only when the job goes on.
    await waitFor(() => drafts > DIMENSIONS.length, { timeoutMs: 60_000 });
    expect(await lab.client.status(id)).toMatchObject({ status: 'running' });
    database.exec('DROP TRIGGER full');
    database.close();
    const events = await lab.client.events(id);
    expect(events.filter(({ type }) => type === 'done')).toHaveLength(1);
    expect(await lab.client.status(id)).toMatchObject({ status: 'complete' });
  });
});
