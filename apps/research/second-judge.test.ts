import { join } from 'node:path';
import { openDatabase } from '@trunkline/storage';
import { type ChatRequestBody, type ScriptedReply, waitFor } from '@trunkline/testing';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { askedFor, type Lab, startLab } from './fixtures/lab.ts';
import { migrations } from './store/schema.ts';

let lab: Lab;
let { client, model } = {} as Lab;

beforeAll(async () => {
  lab = await startLab();
  ({ client, model } = lab);
});
afterEach(() => lab.reset());
afterAll(() => lab.stop());

const REWORDED = 'The Breton plant went into service during the sixties';

interface StoredClaim {
  sentence: string;
  supported: boolean;
  judge: string;
  certain: boolean;
  reason: string;
  passage: string;
}

const promptOf = (request: ChatRequestBody) => String(request.messages[1]?.content);
const verdicts = (...given: { claim: number; verdict: string; words: string }[]) =>
  JSON.stringify({ verdicts: given });
const supported = (words: string) => verdicts({ claim: 1, verdict: 'supported', words });

/** Supports one claim alone. */
const honest = (request: ChatRequestBody, own = REWORDED, words = 'was opened in 1966') =>
  verdicts(
    ...Array.from(
      promptOf(request).matchAll(/^Claim (\d+) \(passage \d+\): (.*)$/gm),
      ([, number, claim]) => {
        const isOwn = claim?.includes(own);
        return {
          claim: Number(number),
          verdict: isOwn ? 'supported' : 'not_in_passage',
          words: isOwn ? words : '',
        };
      },
    ),
  );

/** Says yes to whatever it is asked. */
const yes = (request: ChatRequestBody) =>
  verdicts(
    ...Array.from(promptOf(request).matchAll(/^Claim (\d+)/gm), ([, claim]) => ({
      claim: Number(claim),
      verdict: 'supported',
      words: 'was opened in 1966',
    })),
  );

/** One section says what a page says, in quite other words; the judge answers what the test wants. */
function script(
  judge: (request: ChatRequestBody) => ScriptedReply,
  sentences: readonly string[] = [REWORDED],
): Lab['script']['replace'] {
  return (asked, request) => {
    if (asked === 'checks') return judge(request);
    if (asked !== 'section' || !promptOf(request).includes('"Stations"')) return undefined;
    const number = /^\[(\d+)\].*La Rance in Brittany/m.exec(promptOf(request))?.[1];
    return sentences.map((sentence) => `${sentence} [${number}].`).join(' ');
  };
}

async function run(body: Record<string, unknown> = {}) {
  const before = model.chats().length;
  const id = await client.startJob({ query: 'tidal power', ...body });
  await client.events(id);
  const checks = model
    .chats()
    .slice(before)
    .filter((chat) => askedFor(chat) === 'checks');
  return { id, checks, snapshot: await client.status(id), claim: await claimOf(id, REWORDED) };
}

async function claimOf(id: string, words: string): Promise<StoredClaim | undefined> {
  const { claims } = (await client.json(`/api/research/deep/${id}/evidence`)) as unknown as {
    claims: StoredClaim[];
  };
  return claims.find(({ sentence }) => sentence.includes(words));
}

describe('a citation that comparing words cannot settle', () => {
  it('is put to the model with its passage, and the words that show it become its evidence', async () => {
    lab.script.replace = script(() => supported('was opened in 1966'));
    const { checks, snapshot, claim } = await run();
    expect(checks).toHaveLength(1);
    expect(promptOf(checks[0]!)).toContain(`Claim 1 (passage 1): ${REWORDED}`);
    expect(promptOf(checks[0]!)).toContain('La Rance in Brittany was opened in 1966');
    expect(checks[0]!.model).toBe('gpt-5-mini');
    expect(claim).toMatchObject({ supported: true, judge: 'model', certain: false, reason: '' });
    expect(claim?.passage).toMatch(/^The station at La Rance in Brittany was opened in 1966 .*megawatts\.$/);
    expect(snapshot.citations).toMatchObject({ byModel: 1, unchecked: 0, doubtful: 0 });
    expect(snapshot.report).toMatch(/during the sixties \[\d\]\./);
  });

  it('is put to the model also where it is a figure of a chart of the chat', async () => {
    const said = 'has a capacity of 240 megawatts';
    lab.script.replace = script((request) => honest(request, 'La Rance — Capacity: 240', said));
    const chart = {
      type: 'bar',
      title: 'Stations',
      labels: ['La Rance', 'Sihwa Lake'],
      series: [{ name: 'Capacity', values: [240, 999] }],
      unit: 'megawatts',
    };
    model.enqueue(
      { toolCalls: [{ name: 'searchWeb', arguments: { query: 'tidal power' } }] },
      { toolCalls: [{ name: 'chart', arguments: chart }] },
      'Here they are.',
    );
    await client.chat({ id: 'figures', messages: [{ role: 'user', content: 'Draw the stations' }] });
    const { messages } = (await client.json('/api/chat/figures')) as unknown as { messages: unknown[] };
    expect(messages[1]).toMatchObject({
      charts: [chart],
      checked: {
        figures: [
          {
            text: expect.stringMatching(/240 megawatts \[\d\] \|\n\| Sihwa Lake \| 999 megawatts \[\?\] \|/),
            claims: [{ supported: true, change: 'added' }, { supported: false }],
          },
        ],
      },
    });
  });

  it.each([
    ['contradicted', 'has a capacity of 240 megawatts', 'the page says otherwise'],
    ['not_in_passage', '', 'the page does not say this'],
  ])('is marked when the model finds it %s', async (verdict, words, reason) => {
    lab.script.replace = script(() => verdicts({ claim: 1, verdict, words }));
    const { snapshot, claim } = await run();
    expect(claim).toMatchObject({ supported: false, judge: 'model', certain: false, reason });
    expect(snapshot.report).toMatch(/during the sixties \[\d\?\]\./);
  });

  it.each([
    ['words that the page does not have', supported('was opened in the sixties by the king')],
    ['no words', supported('')],
    ['a single word', supported('1966')],
    ['another claim', verdicts({ claim: 7, verdict: 'supported', words: 'was opened in 1966' })],
    [
      'two verdicts at once',
      verdicts(
        { claim: 1, verdict: 'supported', words: 'was opened in 1966' },
        { claim: 1, verdict: 'not_in_passage', words: '' },
      ),
    ],
  ])('is not checked when the model answers with %s', async (_, answer) => {
    lab.script.replace = script(() => answer);
    const { snapshot, claim } = await run();
    expect(claim).toMatchObject({ supported: false, judge: 'none', certain: false });
    expect(snapshot.citations).toMatchObject({ byModel: 0, unchecked: 1, doubtful: 1 });
    expect(snapshot.report).toMatch(
      /during the sixties \[\d\?\]\.[\s\S]*_1 of \d citations were not checked/,
    );
  });

  it('is asked about once more when the answer has not the form', async () => {
    let answered = 0;
    lab.script.replace = script(() => (answered++ === 0 ? 'I think so.' : supported('was opened in 1966')));
    const { checks, claim } = await run();
    expect(checks).toHaveLength(2);
    expect(claim).toMatchObject({ supported: true, judge: 'model' });
  });

  it.each<[string, ScriptedReply, string]>([
    ['never answers in the form', 'I think so.', 'required form'],
    ['refuses', { fault: 'status', status: 401 }, 'LLM_API_KEY'],
  ])('is not checked when the model %s, and the score says why', async (_, reply, words) => {
    lab.script.replace = script(() => reply);
    const { id, snapshot, claim } = await run();
    expect(snapshot.status).toBe('complete');
    expect(claim).toMatchObject({ supported: false, judge: 'none', certain: false });
    expect(snapshot.citations).toMatchObject({ problem: expect.stringContaining(words) });
    const html = await (await fetch(`${lab.url}/api/research/deep/${id}/export?format=html`)).text();
    expect(html).toContain('The model did not judge every doubtful citation');
  });

  it('is not asked about when that would go beyond the tokens of the job', async () => {
    lab.script.replace = (asked, request) =>
      asked === 'section'
        ? { text: String(script(() => '')('section', request) ?? ''), usage: { input: 90_000, output: 9000 } }
        : undefined;
    const { checks, snapshot, claim } = await run({ budget: { tokens: 100_000 } });
    expect(checks).toEqual([]);
    expect(claim).toMatchObject({ supported: false, judge: 'none', certain: false });
    expect(snapshot.citations).toMatchObject({ problem: expect.stringContaining('budget') });
  });

  it('is not checked when the time of the job is up', async () => {
    lab.script.replace = script(() => ({ fault: 'stall' }));
    const before = model.chats().length;
    const id = await client.startJob({ query: 'tidal power', budget: { seconds: 3600 } });
    await waitFor(() =>
      model
        .chats()
        .slice(before)
        .some((chat) => askedFor(chat) === 'checks'),
    );
    await lab.stopService();
    const database = openDatabase(join(lab.home, 'research', 'research.db'), { migrations });
    database.exec(`UPDATE jobs SET spent_ms = 3600000 WHERE id = '${id}'`);
    database.close();
    await lab.startService();
    // The client may hold connections to the service that was stopped.
    await waitFor(() => client.status(id).catch(() => undefined));
    await client.events(id);
    const snapshot = await client.status(id);
    expect(snapshot.status).toBe('complete');
    expect(await claimOf(id, REWORDED)).toMatchObject({ judge: 'none' });
    expect(snapshot.citations).toMatchObject({ problem: expect.stringContaining('time') });
  });

  it('is dropped with its job', async () => {
    lab.script.replace = script(() => ({ fault: 'stall' }));
    const id = await client.startJob({ query: 'tidal power' });
    const asked = () =>
      model.requests.find(({ body }) => isChecks(body) && promptOf(body).includes(REWORDED));
    model.requests.length = 0;
    await waitFor(() => asked() !== undefined);
    await fetch(`${lab.url}/api/research/deep/${id}`, { method: 'DELETE' });
    await waitFor(() => asked()?.abandoned === true);
    expect(await client.status(id)).toMatchObject({ status: 'cancelled' });
  });
});

function isChecks(body: unknown): body is ChatRequestBody {
  return body !== undefined && askedFor(body as ChatRequestBody) === 'checks';
}

describe('the second judge', () => {
  it('is not asked about what the rules are sure of', async () => {
    const { checks, snapshot } = await run();
    expect(checks).toEqual([]);
    expect(snapshot.citations).toMatchObject({ byModel: 0, doubtful: 0 });
  });

  it('is asked in batches, and after a restart only for what it has not answered', async () => {
    const many = Array.from({ length: 12 }, (_, index) => `${REWORDED} under director ${index + 1}`);
    let isAnswering = true;
    const asked: string[] = [];
    const judge = (request: ChatRequestBody): ScriptedReply => {
      const claims = promptOf(request).match(/^Claim \d+.*$/gm) ?? [];
      const own = claims.filter((claim) => claim.includes(REWORDED));
      asked.push(`${own.length}`);
      if (own.length < 7 && !isAnswering) return { fault: 'stall' };
      isAnswering = own.length < 7;
      return honest(request);
    };
    lab.script.replace = script(judge, many);
    // With a limit of tokens one batch waits for the other.
    const id = await client.startJob({ query: 'tidal power', budget: { tokens: 1_000_000 } });
    await waitFor(() => asked.length === 2);
    await lab.stopService();
    model.release();
    isAnswering = true;
    await lab.startService();
    await client.events(id);
    expect(asked).toEqual(['7', '5', '5']);
    expect((await client.status(id)).citations).toMatchObject({ byModel: 12 });
  });

  it('shows in exports who judged', async () => {
    lab.script.replace = script(() => supported('was opened in 1966'));
    const { id } = await run();
    const html = await (await fetch(`${lab.url}/api/research/deep/${id}/export?format=html`)).text();
    expect(html).toContain('bears this out (judged by the model, not sure)');
    expect(html).toContain('bears this out (judged by rules)');
    expect(html).toContain('(1 judged by the model)');
  });

  it('judges answers to questions about a report too', async () => {
    const { id } = await run();
    lab.script.replace = (asked, request) => {
      if (asked === 'checks') return supported('was opened in 1966');
      const number = /^\[(\d+)\].*La Rance in Brittany/m.exec(promptOf(request))?.[1];
      return asked === 'section' ? `${REWORDED} [${number}].` : undefined;
    };
    const answer = await client.post(`/api/research/deep/${id}/questions`, {
      question: 'When was the station at La Rance in Brittany opened?',
    });
    const { claims } = (await answer.json()) as { claims: StoredClaim[] };
    expect(claims[0]).toMatchObject({ supported: true, judge: 'model' });
  });
});

describe('a judge that says yes to everything', () => {
  it('is asked about a claim that was made to be false, and not believed after that', async () => {
    const own = await startLab(undefined, script(yes));
    try {
      const job = async () => {
        const id = await own.client.startJob({ query: 'tidal power' });
        await own.client.events(id);
        const { claims } = (await own.client.json(`/api/research/deep/${id}/evidence`)) as unknown as {
          claims: StoredClaim[];
        };
        const { citations } = await own.client.status(id);
        return { claim: claims.find(({ sentence }) => sentence.includes(REWORDED)), citations };
      };
      const first = await job();
      const [check] = own.model.chats().filter((chat) => askedFor(chat) === 'checks');
      const [, control = ''] = /^Claim 2 \(passage 1\): (.*)$/m.exec(promptOf(check!)) ?? [];
      // A sentence of the page with another figure.
      expect(promptOf(check!).replace(control, '')).not.toContain(control);
      expect(control).toMatch(/\d/);
      expect(first.claim).toMatchObject({ supported: false, judge: 'none', certain: false });
      expect(first.citations).toMatchObject({
        byModel: 0,
        problem: expect.stringContaining('made to be false'),
      });
      // Its "no" still counts.
      own.script.replace = script(() => verdicts({ claim: 1, verdict: 'not_in_passage', words: '' }));
      expect((await job()).claim).toMatchObject({ supported: false, judge: 'model' });
      own.script.replace = script(() => supported('was opened in 1966'));
      expect((await job()).claim).toMatchObject({ supported: false, judge: 'none' });
    } finally {
      await own.stop();
    }
  });
});

describe('without a second judge', () => {
  const alone = async (environment: Record<string, string>) => {
    const own = await startLab(
      () => environment,
      script(() => 'never'),
    );
    const id = await own.client.startJob({ query: 'tidal power' });
    await own.client.events(id);
    expect(own.model.chats().filter((chat) => askedFor(chat) === 'checks')).toEqual([]);
    return { own, id, snapshot: await own.client.status(id) };
  };

  it('what comparing words cannot settle is shown as not checked, in the report and its exports', async () => {
    const { own, id, snapshot } = await alone({ RESEARCH_MODEL_CHECKS: '0' });
    try {
      expect(snapshot.citations).toMatchObject({ byModel: 0, unchecked: 1 });
      expect(snapshot.report).toMatch(/sixties \[\d\?\]\.[\s\S]*_1 of \d citations were not checked/);
      const exported = async (format: string) =>
        await (await fetch(`${own.url}/api/research/deep/${id}/export?format=${format}`)).text();
      expect(await exported('html')).toMatch(/1 not checked[\s\S]*Source \d was not checked for this/);
      expect(await exported('md')).toContain('citations were not checked');
      const { claims } = JSON.parse(await exported('json')) as { claims: StoredClaim[] };
      expect(claims.filter(({ judge }) => judge === 'none')).toMatchObject([
        {
          supported: false,
          certain: false,
          reason: 'no model judged it',
        },
      ]);
    } finally {
      await own.stop();
    }
  });

  it('the demo model quotes its sources, which needs no judge', async () => {
    const { own, snapshot } = await alone({ LLM_GATEWAY_URL: '' });
    try {
      expect(snapshot.citations).toMatchObject({ byModel: 0, unchecked: 0 });
    } finally {
      await own.stop();
    }
  });
});
