import { get, type IncomingHttpHeaders } from 'node:http';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { type Asked, askedFor, clientOf, type Lab, startLab } from './fixtures/lab.ts';
import { startResearch } from './fixtures/service.ts';

let lab: Lab;
let { client, model, search } = {} as Lab;

beforeAll(async () => {
  lab = await startLab();
  ({ client, model, search } = lab);
});
afterEach(() => lab.reset());
afterAll(() => lab.stop());

async function run(query = 'tidal power'): Promise<string> {
  const id = await client.startJob({ query });
  await client.events(id);
  return id;
}

const post = (id: string, what: string, body: unknown = {}) =>
  client.post(`/api/research/deep/${id}/${what}`, body);
const count = (asked: Asked) => model.chats().filter((chat) => askedFor(chat) === asked).length;

describe('a job that failed', () => {
  it('goes on where the model failed, without planning or researching again', async () => {
    lab.script.replace = (asked) => (asked === 'gaps' ? { fault: 'status', status: 401 } : undefined);
    const id = await run();
    expect(await client.status(id)).toMatchObject({ status: 'error', phase: 'evaluate' });
    const before = [count('scope'), count('summary')];
    const seen = (await client.events(id)).at(-1)?.id;
    lab.script.replace = () => undefined;
    const answer = await post(id, 'resume');
    expect(answer.status).toBe(200);
    expect(await answer.json()).toMatchObject({ status: 'running', phase: 'evaluate' });
    const more = await client.events(id, seen);
    expect(more[0]).toMatchObject({ type: 'resumed', data: { phase: 'evaluate' } });
    expect(more.at(-1)?.type).toBe('done');
    const snapshot = await client.status(id);
    expect(snapshot).toMatchObject({ status: 'complete', report: expect.stringContaining('## Sources') });
    expect(snapshot.error).toBeUndefined();
    expect([count('scope'), count('summary')]).toEqual(before);
  });

  it('searches again for what found nothing', async () => {
    search.faults.searxng = 'cut';
    const id = await run();
    expect(await client.status(id)).toMatchObject({
      status: 'error',
      phase: 'research',
      plan: [{ state: 'done', troubles: [expect.stringContaining('cannot be reached')] }, {}, {}],
    });
    search.faults.searxng = 'none';
    await post(id, 'resume');
    const events = await client.events(id);
    expect(events.at(-1)?.type).toBe('done');
    expect(await client.status(id)).toMatchObject({ status: 'complete', warnings: [] });
  });

  it('drafts again when the drafts gave nothing to cite', async () => {
    lab.script.replace = (asked) =>
      asked === 'section' ? 'Bananas are usually yellow and rather long.' : undefined;
    const id = await run();
    expect(await client.status(id)).toMatchObject({ status: 'error', phase: 'synthesis' });
    lab.script.replace = () => undefined;
    await post(id, 'resume');
    await client.events(id);
    expect(await client.status(id)).toMatchObject({ status: 'complete' });
  });

  it('takes another budget along', async () => {
    search.faults.searxng = 'hang';
    const id = await client.startJob({ query: 'tidal power', budget: { seconds: 0.4 } });
    await client.events(id);
    expect(await client.status(id)).toMatchObject({ status: 'error' });
    search.faults.searxng = 'none';
    await post(id, 'resume', { budget: { seconds: 600 } });
    await client.events(id);
    expect(await client.status(id)).toMatchObject({
      status: 'complete',
      options: { budget: { seconds: 600 } },
    });
  });

  it('is not taken up while it runs or when it is complete', async () => {
    const id = await run();
    expect((await post(id, 'resume')).status).toBe(409);
    expect((await post('unknown', 'resume')).status).toBe(404);
  });

  it('goes on after it was cancelled, too', async () => {
    lab.script.replace = (asked) => (asked === 'scope' ? { fault: 'stall', answer: '{}' } : undefined);
    const id = await client.startJob({ query: 'tidal power' });
    await fetch(`${lab.url}/api/research/deep/${id}`, { method: 'DELETE' });
    await client.events(id);
    lab.script.replace = () => undefined;
    expect((await post(id, 'resume')).status).toBe(200);
    await client.events(id);
    expect(await client.status(id)).toMatchObject({ status: 'complete' });
  });
});

it('pages that were read before are searched where no search service is set', async () => {
  const first = await startLab();
  const id = await first.client.startJob({ query: 'tidal power' });
  await first.client.events(id);
  await first.stopService();
  const alone = await startResearch(first.home);
  try {
    const client = clientOf(alone.url);
    const again = await client.startJob({ query: 'tidal power' });
    await client.events(again);
    const { sources } = (await client.json(`/api/research/deep/${again}/evidence`)) as unknown as {
      sources: { engine: string; state: string }[];
    };
    expect(sources.some(({ state }) => state === 'read')).toBe(true);
    expect(sources.every(({ engine }) => engine === 'pages')).toBe(true);
  } finally {
    await alone.stop();
    await first.stop();
  }
});

describe('a finished job', () => {
  it('tells what it cost and how long it took', async () => {
    lab.script.replace = (asked) =>
      asked === 'gaps'
        ? { text: JSON.stringify({ gaps: [] }), usage: { input: 1_000_000, output: 100_000 } }
        : undefined;
    const { costUsd, tokens, elapsedMs } = await client.status(await run());
    expect(costUsd).toBeGreaterThan(0.44);
    expect(costUsd).toBeLessThan(0.5);
    expect(tokens).toBeGreaterThan(1_100_000);
    expect(elapsedMs).toBeGreaterThan(0);
  });

  it('is run again with the same settings', async () => {
    const id = await client.startJob({ query: 'tidal power', budget: { sources: 2 }, sources: ['web'] });
    await client.events(id);
    const { researchId } = (await (await post(id, 'rerun')).json()) as { researchId: string };
    expect(researchId).not.toBe(id);
    await client.events(researchId);
    expect(await client.status(researchId)).toMatchObject({
      query: 'tidal power',
      status: 'complete',
      options: { budget: { sources: 2 }, sources: ['web'] },
    });
  });

  it('is found by words of its query and of its report', async () => {
    const id = await run('tidal power 100%_sure');
    const found = async (q: string) => {
      const { jobs } = (await client.json(
        `/api/research?${new URLSearchParams({ q }).toString()}`,
      )) as unknown as {
        jobs: { researchId: string; report?: string }[];
      };
      return jobs.map(({ researchId }) => researchId);
    };
    expect(await found('100%_SURE')).toEqual([id]);
    expect(await found('100__sure')).toEqual([]);
    expect(await found('## Sources')).toContain(id);
    expect(await found('nowhere to be found')).toEqual([]);
  });

  it('answers questions from its stored sources, each citation checked, and keeps the answers', async () => {
    const id = await run();
    const searches = search.requests.length;
    const answer = await post(id, 'questions', { question: 'What did offshore wind cost in the auction?' });
    expect(answer.status).toBe(201);
    const body = (await answer.json()) as { text: string; claims: { supported: boolean; number: number }[] };
    expect(body.text).toMatch(/\[\d\]\.$/);
    expect(body.claims[0]).toMatchObject({ supported: true, passage: expect.any(String) });
    expect(search.requests.length).toBe(searches);
    lab.script.replace = (asked) =>
      asked === 'section' ? 'Offshore wind cost 99 pounds per megawatt hour [1].' : undefined;
    const wrong = (await (
      await post(id, 'questions', { question: 'What did offshore wind cost?' })
    ).json()) as {
      text: string;
    };
    expect(wrong.text).toMatch(/\[1\?\]\.$/);
    const { answers } = (await client.json(`/api/research/deep/${id}/questions`)) as unknown as {
      answers: unknown[];
    };
    expect(answers).toHaveLength(2);
    const nothing = (await (await post(id, 'questions', { question: 'zebra quokka' })).json()) as object;
    expect(nothing).toMatchObject({ text: expect.stringContaining('no passage'), claims: [] });
    lab.script.replace = () => ({ fault: 'status', status: 401 });
    expect((await post(id, 'questions', { question: 'What did offshore wind cost?' })).status).toBe(502);
  });
});

describe('a share link', () => {
  it('gives one report to anyone until it is taken back', async () => {
    const id = await run();
    const { share } = (await (await post(id, 'share')).json()) as { share: string };
    expect(share).toMatch(/^\/share\/[\w-]{32}$/);
    expect(((await (await post(id, 'share')).json()) as { share: string }).share).toBe(share);
    expect(await client.status(id)).toMatchObject({ share });
    const shared = await fetch(`${lab.url}${share}/report`);
    expect(await shared.json()).toMatchObject({
      query: 'tidal power',
      report: expect.stringContaining('## Sources'),
      claims: expect.any(Array),
    });
    const path = `${lab.url}/api/research/deep/${id}/share`;
    expect((await fetch(path, { method: 'DELETE' })).status).toBe(204);
    expect((await fetch(`${lab.url}${share}/report`)).status).toBe(404);
    expect((await client.status(id)).share).toBeUndefined();
    const { share: next } = (await (await post(id, 'share')).json()) as { share: string };
    expect(next).not.toBe(share);
  });

  it('gives browsers the page and programs the report, and 404 where there is none', async () => {
    const { share } = (await (await post(await run(), 'share')).json()) as { share: string };
    const browser = 'text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8';
    const cases = [
      ['*/*', 'text/markdown', /^# tidal/],
      [undefined, 'text/markdown', /^# tidal/],
      ['text/markdown', 'text/markdown', /^# tidal/],
      ['application/json', 'application/json', /"report":"# tidal/],
      [browser, 'text/html', /^<!doctype/i],
    ] as const;
    for (const [accept, type, words] of cases) {
      const { status, headers, body } = await rawGet(`${lab.url}${share}`, accept);
      expect([accept, status, headers['cache-control']]).toEqual([accept, 200, 'no-store']);
      expect(headers['content-type']).toContain(type);
      expect(body).toMatch(words);
      expect((await rawGet(`${lab.url}/share/unknown`, accept)).status).toBe(404);
    }
  });

  it('is not made for a job without a report', async () => {
    search.faults.searxng = 'cut';
    expect((await post(await run(), 'share')).status).toBe(409);
  });
});

describe('conversations', () => {
  it('keep the sources of their answers, and what was said when the client left', async () => {
    const question = { role: 'user', content: 'How do tidal streams work?' };
    model.enqueue(
      { toolCalls: [{ name: 'searchWeb', arguments: { query: 'tidal streams' } }] },
      'Turbines stand in currents [1].',
    );
    await client.chat({ id: 'with-sources', messages: [question] });
    const stored = async () =>
      (await client.json('/api/chat/with-sources')) as unknown as {
        messages: { content: string; sources?: { number: number }[] }[];
      };
    expect((await stored()).messages[1]?.sources?.[0]).toMatchObject({ number: 1, url: expect.any(String) });
    model.enqueue({ fault: 'stall', text: 'They are' });
    const answer = { role: 'assistant', content: 'Turbines stand in currents [1].' };
    const leaving = new AbortController();
    const messages = [question, answer, { role: 'user', content: 'More?' }];
    const response = await fetch(`${lab.url}/api/chat`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ id: 'with-sources', messages }),
      signal: leaving.signal,
    });
    const reader = response.body!.getReader();
    await reader.read();
    leaving.abort();
    await expect.poll(async () => (await stored()).messages.at(-1)?.content).toBe('They are');
    expect((await stored()).messages[1]?.sources).toBeDefined();
    const { conversations } = (await client.json('/api/chat?q=tidal%20STREAMS')) as unknown as {
      conversations: { id: string }[];
    };
    expect(conversations).toEqual([
      {
        id: 'with-sources',
        title: 'How do tidal streams work?',
        messages: 4,
        updatedAt: expect.any(String),
      },
    ]);
  });
});

/** As curl does: fetch would add headers of its own. */
function rawGet(url: string, accept: string | undefined) {
  return new Promise<{ status: number | undefined; headers: IncomingHttpHeaders; body: string }>(
    (resolve, reject) => {
      get(url, { headers: accept === undefined ? {} : { accept } }, (response) => {
        let body = '';
        response.setEncoding('utf8');
        response.on('data', (piece: string) => (body += piece));
        response.on('end', () => resolve({ status: response.statusCode, headers: response.headers, body }));
      }).on('error', reject);
    },
  );
}
