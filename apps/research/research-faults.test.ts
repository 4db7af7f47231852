import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { waitFor } from '@trunkline/testing';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { askedFor, DIMENSIONS, type Lab, startLab } from './fixtures/lab.ts';

let lab: Lab;
let { client, model, search } = {} as Lab;

beforeAll(async () => {
  lab = await startLab();
  ({ client, model, search } = lab);
});
afterEach(() => lab.reset());
afterAll(() => lab.stop());

async function run(body: Record<string, unknown> = {}) {
  const id = await client.startJob({ query: 'tidal power', ...body });
  const events = await client.events(id);
  return { id, events, snapshot: await client.status(id) };
}

describe('a job whose search fails', () => {
  it.each([
    ['cut' as const, /SearXNG at .* cannot be reached/],
    [{ status: 403 }, /refuses JSON answers.*search\.formats/],
    [{ status: 500 }, /answered with status 500/],
    ['html' as const, /did not answer in JSON.*SEARXNG_URL/],
    ['empty' as const, /engines do not respond: google \(timeout\)/],
  ])('names the service and never writes a report: %j [A117] [A172] [A180]', async (fault, words) => {
    search.faults.searxng = fault;
    const { events, snapshot } = await run();
    expect(snapshot).toMatchObject({ status: 'error', error: expect.stringMatching(words) });
    expect(snapshot.report).toBeUndefined();
    expect(events.slice(-2).map(({ type }) => type)).toEqual(['error', 'done']);
    expect(events.at(-2)?.data).toEqual({ message: expect.stringMatching(words) });
    expect(events.some(({ type }) => type === 'synthesis_started')).toBe(false);
  });

  it('says that nothing is known where the service answers with nothing', async () => {
    const dimensions = DIMENSIONS.map((name) => ({ name, queries: [`zzzz ${name.slice(0, 1)}qqq`] }));
    lab.script.replace = (asked) => (asked === 'scope' ? JSON.stringify({ dimensions }) : undefined);
    const { snapshot } = await run({ query: 'zzzz qqqq' });
    expect(snapshot).toMatchObject({
      status: 'error',
      error: expect.stringContaining('have nothing on "zzzz qqqq"'),
    });
  });

  it('says why no page could be read', async () => {
    search.faults.pages = { status: 503 };
    const { snapshot } = await run();
    expect(snapshot.error).toMatch(/none could be read: .*status 503/);
  });

  it('shows the health of each source', async () => {
    search.faults.searxng = { status: 403 };
    await run();
    const { sources } = (await client.json('/healthz')) as unknown as {
      sources: { name: string; state: string; words: string }[];
    };
    expect(sources).toContainEqual(
      expect.objectContaining({
        name: 'searxng',
        kind: 'web',
        state: 'failing',
        words: expect.stringContaining('403'),
      }),
    );
    expect(sources).toContainEqual(expect.objectContaining({ name: 'files', kind: 'files' }));
  });
});

describe('the model', () => {
  it('ends the job with its words when it fails [A117]', async () => {
    lab.script.replace = (asked) => (asked === 'scope' ? { fault: 'status', status: 401 } : undefined);
    const { snapshot } = await run();
    expect(snapshot).toMatchObject({ status: 'error', error: expect.stringContaining('LLM_API_KEY') });
  });

  it('breaks off what is under way before it ends, so that nothing is told twice', async () => {
    lab.script.replace = (asked, request) => {
      if (asked !== 'summary') return undefined;
      const isSlow = String(request.messages[1]?.content).includes('Dimension: Stations');
      return isSlow
        ? { fault: 'stall', answer: JSON.stringify({ summary: 'Late.', keyFinding: 'Late.' }) }
        : { fault: 'status', status: 401 };
    };
    const { id, events } = await run();
    expect(events.at(-1)?.type).toBe('done');
    lab.script.replace = () => undefined;
    expect((await client.post(`/api/research/deep/${id}/resume`, {})).status).toBe(200);
    model.release();
    const all = await client.events(id);
    const complete = all
      .filter(({ type }) => type === 'dimension_complete')
      .map(({ data }) => data.dimension);
    expect(complete.toSorted()).toEqual(DIMENSIONS.toSorted());
    expect(all.filter(({ data }) => data?.summary === 'Late.')).toEqual([]);
  });

  it('may take little at a time: passages are shortened until it takes them', async () => {
    const sizes: number[] = [];
    lab.script.replace = (asked, request) => {
      const { length } = String(request.messages[1]?.content);
      if (asked !== 'section' && asked !== 'summary') return undefined;
      if (length > 900) return { fault: 'status', status: 400, message: 'the prompt is too long' };
      sizes.push(length);
      return undefined;
    };
    const { snapshot } = await run();
    expect(snapshot).toMatchObject({ status: 'complete' });
    expect(sizes.length).toBeGreaterThanOrEqual(6);
    expect(
      model.chats().filter((chat) => String(chat.messages[1]?.content).length > 900).length,
    ).toBeGreaterThan(0);
  });

  it('may plan in prose around the object, or not at all', async () => {
    lab.script.replace = (asked) => (asked === 'scope' ? 'I cannot plan.' : undefined);
    const { snapshot } = await run();
    expect(snapshot).toMatchObject({ status: 'complete', dimensionsTotal: 3 });
  });

  it('is given less, twice, when it refuses a prompt as too long, and the report says so', async () => {
    lab.script.replace = (asked, request) => {
      const { length } = String(request.messages[1]?.content);
      const tooLong = { fault: 'status', status: 400, message: 'maximum context length exceeded' } as const;
      if (asked === 'gaps') return tooLong;
      if (asked === 'section') return length > 700 ? tooLong : undefined;
      return asked === 'summary' && length > 300 ? tooLong : undefined;
    };
    const { events, snapshot } = await run();
    expect(snapshot).toMatchObject({ status: 'complete' });
    expect(events.find(({ type }) => type === 'evaluate_complete')?.data).toMatchObject({
      stopReason: 'context',
    });
    const less = 'Written from less than was found: the context of the model is too small.';
    expect(snapshot.report).toContain(`_${less}_`);
    expect(snapshot.warnings).toContain(`Stations: ${less}`);
    lab.script.replace = (asked) =>
      asked === 'section' ? { fault: 'status', status: 400, message: 'prompt is too long' } : undefined;
    const { snapshot: refused } = await run();
    expect(refused).toMatchObject({ status: 'complete' });
    expect(refused.report).toMatch(/^# .*\n\n> 3 of 3 sections are extracts.*each says why: “Stations”/);
    expect(
      String(refused.report).match(/refused it as too long, even after it was halved twice/g),
    ).toHaveLength(3);
  });

  it('that writes nothing leaves an extract which says so at the top, at its place, in status and events', async () => {
    lab.script.replace = (asked, request) =>
      asked === 'section' && String(request.messages[1]?.content).includes('"Stations"') ? ' ' : undefined;
    const { events, snapshot } = await run();
    const why =
      'An extract, not written by the model: the model returned nothing for it. Its sentences are taken from the sources as they stand.';
    expect(snapshot.report).toMatch(
      /^# .*\n\n> \d of 3 sections are extracts, not written by the model; each says why: “Stations”/,
    );
    expect(snapshot.report).toContain(`## Stations\n\n_${why}_\n\n`);
    expect(snapshot.notes).toContainEqual({ section: 'Stations', kind: 'extract', words: why });
    expect(snapshot.warnings).toEqual([`Stations: ${why}`]);
    expect(events.find(({ type }) => type === 'section_note')?.data).toMatchObject({ dimension: 'Stations' });
    expect(events.find(({ type }) => type === 'synthesis_complete')?.data).toMatchObject({
      extracts: (snapshot.notes as unknown[]).length,
    });
  });

  it('may plan a point twice: it is researched and written once, with a note', async () => {
    const names = ['Costs of tidal power', 'Stations', 'The cost of tidal power', 'History', 'stations'];
    lab.script.replace = (asked) =>
      asked === 'scope'
        ? JSON.stringify({ dimensions: names.map((name) => ({ name, queries: [`tidal power ${name}`] })) })
        : undefined;
    const { events, snapshot } = await run();
    expect(snapshot.dimensions).toEqual(['Costs of tidal power', 'Stations', 'History']);
    expect(events.find(({ type }) => type === 'scope_complete')?.data.merged).toEqual([
      { name: 'The cost of tidal power', into: 'Costs of tidal power' },
      { name: 'stations', into: 'Stations' },
    ]);
    expect(snapshot.report).toContain(
      '_The plan has this point more than once, also as “The cost of tidal power”._',
    );
  });

  it('may plan too much: at most six dimensions with three queries each are taken', async () => {
    const dimensions = Array.from({ length: 9 }, (_, index) => ({
      name: `Side ${index + 1} of tidal power`,
      queries: Array.from({ length: 5 }, (__, query) => `tidal power ${index} ${query}`),
    }));
    lab.script.replace = (asked) => (asked === 'scope' ? JSON.stringify({ dimensions }) : undefined);
    search.requests.length = 0;
    const { snapshot } = await run();
    expect(snapshot.dimensions).toEqual(dimensions.slice(0, 6).map(({ name }) => name));
    expect(search.requests.filter((request) => request.includes('/search?'))).toHaveLength(18);
  });

  it('is asked for the report, and the fast one for plans, summaries and gaps', async () => {
    const two = await startLab(() => ({ LLM_FAST_MODEL: 'fast-model' }));
    try {
      const id = await two.client.startJob({ query: 'tidal power' });
      await two.client.events(id);
      const asked = two.model.chats().map((chat) => `${askedFor(chat)} ${chat.model}`);
      expect(new Set(asked)).toEqual(
        new Set(['scope fast-model', 'summary fast-model', 'gaps fast-model', 'section gpt-5-mini']),
      );
    } finally {
      await two.stop();
    }
  });

  it('is in phase scope while it plans [A112]', async () => {
    lab.script.replace = (asked) => (asked === 'scope' ? { fault: 'stall', answer: '{}' } : undefined);
    const id = await client.startJob({ query: 'tidal power' });
    expect(await client.status(id)).toMatchObject({ status: 'running', phase: 'scope', dimensionsTotal: 0 });
    await fetch(`${lab.url}/api/research/deep/${id}`, { method: 'DELETE' });
    await client.events(id);
    model.release();
  });
});

describe('a model that runs on', () => {
  it('is cut short in its plan and in its gaps', async () => {
    // Not longer: the fake model writes it in this process, which answers nobody meanwhile.
    const endless = 'tides '.repeat(2_000);
    let pass = 0;
    lab.script.replace = (asked) => {
      if (asked === 'scope')
        return JSON.stringify({
          dimensions: DIMENSIONS.map((name) => ({
            name: `${name} ${endless}`,
            queries: [`tidal power ${endless}`],
          })),
        });
      if (asked === 'gaps')
        return JSON.stringify({ gaps: pass++ === 0 ? [`Fish and tidal power ${endless}`] : [] });
      return undefined;
    };
    const { snapshot } = await run();
    expect(snapshot).toMatchObject({ status: 'complete', dimensionsTotal: 4, warnings: [] });
    expect(Math.max(...(snapshot.dimensions as string[]).map(({ length }) => length))).toBeLessThanOrEqual(
      300,
    );
  });

  it('breaks no heading of the report over lines, nor does a query of several lines', async () => {
    const name = 'Costs\n\n# of tidal power';
    lab.script.replace = (asked) =>
      asked === 'scope'
        ? JSON.stringify({
            dimensions: [name, ...DIMENSIONS].map((each) => ({ name: each, queries: ['tidal power'] })),
          })
        : undefined;
    const { snapshot } = await run({ query: 'tidal power\n\nand what it costs' });
    expect(snapshot.report).toMatch(/^# tidal power and what it costs\n\n/);
    expect(snapshot.report).toContain('## Costs # of tidal power\n\n');
  });
});

describe('a point of the plan', () => {
  it('that nothing was found for stands in the report with the reason', async () => {
    const plan = [
      ...DIMENSIONS.map((name) => ({ name, queries: [name] })),
      { name: 'Zebras', queries: ['zebra'] },
    ];
    lab.script.replace = (asked) => (asked === 'scope' ? JSON.stringify({ dimensions: plan }) : undefined);
    const { snapshot } = await run();
    const headings = [...String(snapshot.report).matchAll(/^## (.+)$/gm)].map(([, words]) => words);
    expect(headings).toEqual(['Summary', ...DIMENSIONS, 'Zebras', 'Sources']);
    expect(snapshot.report).toContain(
      '## Zebras\n\n_No source that could be read was found for this point._\n\n',
    );
  });
});

describe('a PDF', () => {
  it('is read and cited like a page', async () => {
    const plan = {
      dimensions: ['One', 'Two', 'Three'].map((name) => ({ name, queries: ['seabed gravel banks'] })),
    };
    lab.script.replace = (asked) => (asked === 'scope' ? JSON.stringify(plan) : undefined);
    const { snapshot } = await run({ query: 'seabed gravel' });
    expect(snapshot).toMatchObject({ status: 'complete', citations: { supported: 1, total: 1 } });
    expect(snapshot.report).toContain('Gravel banks cover 40 percent of the seabed [1].');
    const again = '_What the sources say on this point stands under “One”._\n\n';
    expect(snapshot.report).toContain(`## Two\n\n${again}## Three\n\n${again}`);
  });
});

describe('gaps', () => {
  it('lead back to research, at most three passes', async () => {
    let pass = 0;
    lab.script.replace = (asked) =>
      asked === 'gaps' ? JSON.stringify({ gaps: [`Tidal power question ${++pass}`] }) : undefined;
    const { events, snapshot } = await run();
    const evaluations = events.filter(({ type }) => type === 'evaluate_complete').map(({ data }) => data);
    expect(evaluations).toMatchObject([
      { hasGaps: true, gaps: ['Tidal power question 1'] },
      { hasGaps: true },
      { hasGaps: true, stopReason: 'passes' },
    ]);
    expect(
      events.filter(({ type }) => type === 'evaluate_started').map(({ data }) => data.iteration),
    ).toEqual([1, 2, 3]);
    expect(snapshot).toMatchObject({ status: 'complete', dimensionsTotal: 5, dimensionsComplete: 5 });
  });

  it('are at most three a pass, whatever the model names', async () => {
    let pass = 0;
    const many = ['Turbines', 'Fish', 'Mud flats', 'Prices', 'Grids'].map(
      (name) => `${name} and tidal power`,
    );
    lab.script.replace = (asked) =>
      asked === 'gaps' ? JSON.stringify({ gaps: pass++ === 0 ? many : [] }) : undefined;
    const { events, snapshot } = await run();
    expect(events.find(({ type }) => type === 'evaluate_complete')?.data).toMatchObject({
      gaps: many.slice(0, 3),
    });
    expect(snapshot).toMatchObject({ status: 'complete', dimensionsTotal: 6 });
  });
});

describe('citations', () => {
  it('are marked when their page does not bear them out, and re-tied when another does', async () => {
    lab.script.replace = (asked, request) => {
      const prompt = String(request.messages[1]?.content);
      if (asked !== 'section' || !prompt.includes('"Stations"')) return undefined;
      const given = /^\[(\d+)\]/m.exec(prompt)?.[1];
      return `The station at La Rance has a capacity of 999 megawatts [${given}]. Tide mills ground grain in Europe in the Middle Ages [${given}]. A tide mill at Nendrum was built in the year 619 [99]. The moon is made of green cheese.`;
    };
    const { id, snapshot } = await run();
    const report = String(snapshot.report);
    expect(report).toMatch(/capacity of 999 megawatts \[\d\?\]\./);
    expect(report).toMatch(/green cheese \[\?\]\./);
    expect(report).toMatch(/Tide mills ground grain in Europe in the Middle Ages \[\d\]\./);
    // A number that was made up names no source, whatever the sources say.
    expect(report).toMatch(/Nendrum was built in the year 619 \[\?\]\./);
    expect(report).toContain('_[n?] marks a citation');
    const { total, supported, uncited } = snapshot.citations as Record<string, number>;
    expect([total! - supported!, uncited]).toEqual([1, 2]);
    const { claims } = (await client.json(`/api/research/deep/${id}/evidence`)) as unknown as {
      claims: { supported: boolean; reason: string }[];
    };
    expect(claims.find(({ supported: holds }) => !holds)?.reason).not.toBe('');
  });
});

describe('limits of a job', () => {
  it('reads only pages of allowed domains, and none of denied ones', async () => {
    search.requests.length = 0;
    const { snapshot } = await run({ domains: { deny: ['127.0.0.1'] } });
    expect(snapshot.status).toBe('error');
    expect(search.requests.some((request) => request.includes('/tidal-power'))).toBe(false);
  });

  it.each([
    ['denies', { RESEARCH_DENY_DOMAINS: '127.0.0.1' }, ['127.0.0.1']],
    ['does not allow', { RESEARCH_ALLOW_DOMAINS: 'docs.example' }, ['127.0.0.1']],
  ])('allows nothing where the operator %s what the job allows, and says so', async (_, settings, allow) => {
    const closed = await startLab(() => settings as Record<string, string>);
    try {
      const id = await closed.client.startJob({ query: 'tidal power', domains: { allow } });
      await closed.client.events(id);
      const first = await closed.client.status(id);
      expect(first).toMatchObject({
        status: 'error',
        sourceCount: 0,
        error: expect.stringContaining('RESEARCH_DENY_DOMAINS'),
        warnings: [expect.stringContaining('domain lists exclude')],
      });
      expect(closed.search.requests.some((request) => request.includes('/tidal-power'))).toBe(false);
      const again = (await (await closed.client.post(`/api/research/deep/${id}/rerun`, {})).json()) as {
        researchId: string;
      };
      await closed.client.events(again.researchId);
      expect(await closed.client.status(again.researchId)).toMatchObject({ status: 'error', sourceCount: 0 });
    } finally {
      await closed.stop();
    }
  });

  it('keeps to the number of sources', async () => {
    const { snapshot } = await run({ budget: { sources: 2 } });
    expect(snapshot).toMatchObject({ status: 'complete' });
    expect(snapshot.sourceCount).toBeLessThanOrEqual(2);
  });

  it('stops asking the model when its tokens are used up, and still reports what it has', async () => {
    lab.script.replace = (asked) =>
      asked === 'scope'
        ? {
            text: JSON.stringify({
              dimensions: DIMENSIONS.map((name) => ({ name, queries: [`tidal ${name}`] })),
            }),
            usage: { input: 900, output: 200 },
          }
        : undefined;
    const before = model.chats().length;
    const { events, snapshot } = await run({ budget: { tokens: 1000 } });
    const asked = model.chats().slice(before).map(askedFor);
    expect(asked).toEqual(['scope']);
    expect(snapshot.status).toBe('complete');
    expect(events.find(({ type }) => type === 'evaluate_complete')?.data).toMatchObject({
      stopReason: 'budget',
    });
    const { total, supported } = snapshot.citations as Record<string, number>;
    expect(supported).toBe(total);
  });

  it.each([700, 1200, 1800, 2500, 4000, 9000])('never spends more than %i tokens', async (tokens) => {
    // Answers at any length it may, as a model does that thinks aloud.
    lab.script.replace = (asked, request) => {
      const { max_tokens: most = 4000 } = request as { max_tokens?: number };
      const given = /^\[(\d+)\]/m.exec(String(request.messages[1]?.content))?.[1];
      const long = `The station at La Rance was opened in 1966 [${given}]. `.repeat(200);
      const text = { section: long, summary: JSON.stringify({ summary: long, keyFinding: 'Tides.' }) }[
        asked as string
      ];
      if (text === undefined) return undefined;
      const cut = text.slice(0, Math.min(most, 900) * 4);
      return { text: cut, finishReason: cut === text ? 'stop' : 'length' };
    };
    const { events, snapshot } = await run({ budget: { tokens } });
    expect(snapshot).toMatchObject({ status: 'complete' });
    expect(snapshot.tokens).toBeLessThanOrEqual(tokens);
    const unwritten = (snapshot.notes as { kind: string }[]).filter(({ kind }) => kind === 'extract');
    if (unwritten.length > 0) {
      expect(snapshot.report).toContain(`the budget of ${tokens} tokens was used up`);
      expect(snapshot.report).toMatch(/^# .*\n\n> \d of \d sections are extracts/);
      expect(events.find(({ type }) => type === 'section_note')).toBeDefined();
    }
  });

  it('does not ask for all sections at once with tokens that are there for one', async () => {
    lab.script.replace = (asked) =>
      asked === 'section'
        ? { text: 'Electricity from tides is made at La Rance [1].', usage: { input: 4900, output: 100 } }
        : undefined;
    const before = model.chats().length;
    const { snapshot } = await run({ budget: { tokens: 5000 } });
    expect(snapshot.status).toBe('complete');
    const asked = model.chats().slice(before).map(askedFor);
    expect(asked.filter((what) => what === 'section')).toHaveLength(1);
  });

  it('holds its time against a model that does not answer, and reports what it has', async () => {
    lab.script.replace = (asked) => (asked === 'gaps' ? { fault: 'status', status: 401 } : undefined);
    const { id, snapshot } = await run();
    lab.script.replace = (asked) => (asked === 'gaps' ? { fault: 'stall', answer: '{}' } : undefined);
    const seconds = Number(snapshot.elapsedMs) / 1000 + 1;
    expect((await client.post(`/api/research/deep/${id}/resume`, { budget: { seconds } })).status).toBe(200);
    const events = await client.events(id);
    expect(await client.status(id)).toMatchObject({ status: 'complete' });
    expect(events.find(({ type }) => type === 'evaluate_complete')?.data).toMatchObject({
      stopReason: 'budget',
    });
  });

  it('may allow any part of a second', async () => {
    const { snapshot } = await run({ budget: { seconds: 90.0005 } });
    expect(snapshot).toMatchObject({ status: 'complete' });
  });

  it('stops when its time is up', async () => {
    search.faults.searxng = 'hang';
    const { snapshot } = await run({ budget: { seconds: 0.5 } });
    expect(snapshot).toMatchObject({ status: 'error', error: expect.stringContaining('time allowed') });
  });
});

describe('a plan to be reviewed', () => {
  it("waits for the user's dimensions", async () => {
    const id = await client.startJob({ query: 'tidal power', plan: 'review' });
    const proposed = await client.events(id, undefined, ({ type }) => type === 'scope_proposed');
    expect(proposed.at(-1)?.data).toEqual({ dimensions: DIMENSIONS });
    await waitFor(async () => (await client.status(id)).awaiting === 'plan');
    const answer = await client.post(`/api/research/deep/${id}/plan`, {
      dimensions: ['Costs of tidal power'],
    });
    expect(answer.status).toBe(200);
    const events = await client.events(id);
    expect(events.find(({ type }) => type === 'scope_complete')?.data).toEqual({
      dimensions: ['Costs of tidal power'],
    });
    expect(await client.status(id)).toMatchObject({ status: 'complete', dimensionsTotal: 1 });
    expect((await client.post(`/api/research/deep/${id}/plan`, { dimensions: ['x'] })).status).toBe(409);
  });
});

describe('cancelling', () => {
  it('lets the dimensions under way finish, and stops [A118] [A193]', async () => {
    lab.script.replace = (asked) =>
      asked === 'summary'
        ? { fault: 'stall', answer: JSON.stringify({ summary: 'Late.', keyFinding: 'Late.' }) }
        : undefined;
    const id = await client.startJob({ query: 'tidal power' });
    await client.events(id, undefined, ({ type }) => type === 'dimension_source');
    const response = await fetch(`${lab.url}/api/research/deep/${id}`, { method: 'DELETE' });
    expect(response.status).toBe(204);
    expect(await client.status(id)).toMatchObject({ status: 'cancelled', dimensionsComplete: 0 });
    await waitFor(() =>
      model
        .chats()
        .slice(-3)
        .every((chat) => askedFor(chat) === 'summary'),
    );
    model.release();
    const events = await client.events(id);
    expect(events.filter(({ type }) => type === 'dimension_complete')).toHaveLength(3);
    expect(events.at(-1)?.type).toBe('done');
    expect(events.some(({ type }) => type === 'evaluate_started')).toBe(false);
    expect(await client.status(id)).toMatchObject({ status: 'cancelled' });
  });
});

// Last: budgets that are taken away count for a while.
it('stops when the budget of whoever asked is spent, and no other call of the model is made for them', async () => {
  await lab.stopService();
  const policy = 'budgets: [{ principal: operator, agent: research, usd: 0.0000001 }]';
  writeFileSync(join(lab.home, 'policy.yaml'), policy);
  await lab.startService();
  const { snapshot } = await run();
  expect(snapshot).toMatchObject({
    status: 'error',
    error: expect.stringMatching(/budgets\[0\] of policy.yaml/),
  });
  expect(snapshot.costUsd).toBeGreaterThan(0);
  const { length } = model.requests;
  expect((await run()).snapshot).toMatchObject({ status: 'error', costUsd: 0 });
  expect(model.requests).toHaveLength(length);
});
