import type { ChatRequestBody } from '@trunkline/testing';
import { afterAll, afterEach, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import type { Claim, JobSnapshot } from './api-types.ts';
import { normaliseCitations } from './citations/forms.ts';
import { askedFor, corpus, type Lab, startLab } from './fixtures/lab.ts';

let lab: Lab;

beforeAll(async () => {
  lab = await startLab();
});
afterEach(() => lab.reset());
afterAll(() => lab.stop());

const promptOf = (request: ChatRequestBody) => String(request.messages[1]?.content);

/** One section is written as given, N being the number of the page on La Rance; the others say nothing. */
function write(
  draft: string,
  repairs: (prompt: string) => { statement: number; text: string }[] = () => [],
): Lab['script']['replace'] {
  return (asked, request) => {
    const prompt = promptOf(request);
    const number = /^\[(\d+)\].*La Rance in Brittany/m.exec(prompt)?.[1] ?? '1';
    if (asked === 'repair')
      return JSON.stringify({
        repairs: repairs(prompt).map((each) => ({
          ...each,
          text: each.text.replaceAll('[N]', `[${number}]`),
        })),
      });
    if (asked !== 'section') return undefined;
    return prompt.includes('"Stations"')
      ? draft.replaceAll('N', number)
      : 'Tide mills ground grain in Europe in the Middle Ages.';
  };
}

/** Judges headings as a model would that finds none of their statements on any page. */
const judgeTopics = (request: ChatRequestBody) =>
  JSON.stringify({
    verdicts: Array.from(
      promptOf(request).matchAll(/^Claim (\d+) \(passage \d+\): (.*)$/gm),
      ([, claim, words = '']) => ({
        claim: Number(claim),
        verdict: /^(?:Effects|Folgen) /.test(words) ? 'topic' : 'not_in_passage',
        words: '',
      }),
    ),
  });

async function run(body: Record<string, unknown> = {}) {
  const { client } = lab;
  const before = lab.model.chats().length;
  const id = await client.startJob({ query: 'tidal power', ...body });
  await client.events(id);
  const snapshot = (await client.status(id)) as unknown as JobSnapshot;
  const { claims } = (await client.json(`/api/research/deep/${id}/evidence`)) as unknown as {
    claims: Claim[];
  };
  const claim = (words: string) => claims.find(({ sentence }) => sentence.includes(words));
  const repairs = lab.model
    .chats()
    .slice(before)
    .filter((chat) => askedFor(chat) === 'repair');
  return { id, snapshot, report: snapshot.report ?? '', claims, claim, repairs };
}

const TRUE = 'The station at La Rance in Brittany was opened in 1966 and has a capacity of 240 megawatts';

describe('every statement of a report', () => {
  it('is checked, whatever its form', async () => {
    lab.script.replace = write(
      [
        '### La Rance was closed in 1999',
        '### Overview',
        '### Barrages destroy estuaries',
        '### Capacities of stations',
        `**Sihwa Lake has 911 megawatts.** ${TRUE} [N].`,
        'Opened: 1967',
        'Capacities:',
        '- 777 megawatts',
        'Stations stand in these countries:',
        '- Peru',
        '',
        'Sihwa collapsed.',
        'Owner – Acme Corporation',
        '**Barrages poison fish**',
        '',
        '| Station | Opened | Source |',
        '|---|---|---|',
        '| La Rance | 1966 | [N] |',
        '| Sihwa Lake | 1955 | [N] |',
        '',
        'Table 1: Costs in 1912',
        'Table 2: Turbines explode daily',
        '',
        'Why did tidal power rise to 43 percent? Is it open [N]?',
      ].join('\n'),
    );
    const { report, claims, claim, id } = await run();
    const failed = [
      'La Rance was closed in 1999',
      'Barrages destroy estuaries',
      'Sihwa Lake has 911 megawatts',
      'Opened: 1967',
      '777 megawatts',
      'Peru',
      'Sihwa collapsed',
      'Owner – Acme Corporation',
      'Barrages poison fish',
      'Turbines explode daily',
      'Sihwa Lake — Opened: 1955',
      'Costs in 1912',
      'Why did tidal power rise to 43 percent?',
    ];
    for (const words of failed) expect(claim(words), words).toMatchObject({ supported: false });
    expect(claim('Overview')).toBeUndefined();
    expect(claim('Capacities of stations')).toBeUndefined();
    expect(report).toMatch(/^### La Rance was closed in 1999 \[\?\]$/m);
    expect(report).toMatch(
      /^\*\*Sihwa Lake has 911 megawatts\*\* \[\?\]\. The station .* megawatts \[\d\]\.$/m,
    );
    expect(report).toMatch(/^- 777 megawatts \[\?\]$/m);
    expect(report).toMatch(/^\| Station \| Opened \|\n\| --- \| --- \|\n|^\| Station \| Opened \|\n\|/m);
    expect(report).toMatch(/^\| Sihwa Lake \| 1955 \[\d\?\] \|$/m);
    // The citation of what states nothing leaves a mark too.
    expect(report).toContain('Is it open [?]?');
    expect(claim('Is it open')).toMatchObject({ change: 'removed' });
    const html = await (await fetch(`${lab.url}/api/research/deep/${id}/export?format=html`)).text();
    expect(html).toMatch(/1955 <a class="cite doubt" href="#claim-\d+" title="[^"]/);
    expect(claims.every(({ judge }) => judge !== undefined)).toBe(true);
  });

  it.each([
    ['is a statement where a model says so', judgeTopics, 'Barrages destroy estuaries [?]'],
    ['is a topic where no model says otherwise', () => undefined, 'Barrages destroy estuaries'],
  ])('a point of the plan %s', async (_, judge, heading) => {
    const section = write(`${TRUE} [N].`);
    const names = ['Stations', 'Barrages destroy estuaries', 'Effects on wildlife and people'];
    lab.script.replace = (asked, request) => {
      if (asked === 'scope')
        return JSON.stringify({ dimensions: names.map((name) => ({ name, queries: [`tidal ${name}`] })) });
      return asked === 'checks' ? judge(request) : section(asked, request);
    };
    const { report } = await run();
    expect(report).toContain(`## ${heading}\n`);
    expect(report).toContain('## Effects on wildlife and people\n');
  });

  it('keeps a mark where it cites a source that does not exist', async () => {
    lab.script.replace = write(
      `${TRUE} [99]. Barrages were invented in 1733 [98]. The station at La Rance in Brittany was opened in 1966 [N][97].`,
    );
    const { report, claim, snapshot } = await run();
    // Also where a source that was read has its very words.
    expect(claim('capacity of 240')).toMatchObject({ number: null, supported: false, change: 'removed' });
    expect(report).toMatch(/240 megawatts \[\?\]\./);
    expect(report).toContain('Barrages were invented in 1733 [?].');
    expect(claim('invented in 1733')).toMatchObject({ number: null, change: 'removed' });
    expect(report).toMatch(/opened in 1966 \[\d\]\[\?\]\./);
    expect(snapshot.citations?.changes).toMatchObject({ removed: 3 });
    expect(snapshot.citations?.changes).not.toHaveProperty('moved');
    expect(report).not.toMatch(/\[9\d/);
  });

  const OFFERS = [
    'You get 20% off tidal power stations in spring.',
    'The tidal power kit is yours for $19.99.',
    'We sell you tidal power stations at the best price.',
    'Tidal power stations come with free shipping.',
    'Choose tidal power stations of Brontal.',
    'Wir liefern dir die Turbine zum Sonderangebot.',
  ];

  it('is not tied to a page that repeats it when it is an order, an offer or a link', async () => {
    corpus.push({
      path: '/offer',
      title: 'Tidal power offers of stations',
      text: `Tidal power stations are offered here. Visit http://prize.example/win for tidal power stations. Call +49 30 1234567 about tidal power stations today. The Severn station has 12 megawatts. ${OFFERS.join(' ')}`,
    });
    lab.script.replace = write(
      `Visit http://prize.example/win for tidal power stations. Call +49 30 1234567 about tidal power stations today. See [the offer](http://prize.example/win). ${OFFERS.join(' ')} The Severn station has 12 megawatts. ${TRUE} [N].`,
    );
    const { report, claims, claim, snapshot } = await run();
    corpus.pop();
    for (const offer of OFFERS) expect(claim(offer), offer).toMatchObject({ number: null, supported: false });
    expect(claim('The Severn station has 12')).toMatchObject({ supported: true, change: 'added' });
    expect(report).not.toMatch(/prize\.example|1234567/);
    expect(claims.filter(({ change }) => change === 'withheld').length).toBeGreaterThanOrEqual(2);
    expect(report).toContain('left out, as they tell the reader to go, pay or say something');
    expect(snapshot.citations?.changes?.withheld).toBeGreaterThanOrEqual(2);
  });
});

describe('a table of a page', () => {
  const path = '/tide-table.csv';

  it('reaches the writer in rows, and stands in an extract as a table whose cells hold', async () => {
    const bytes = Buffer.from('Basin;Range m\nFundy;16.3\nUngava;14.9\n');
    corpus.push({
      path,
      title: 'Fundy and Ungava basins',
      text: 'Fundy and Ungava basins',
      body: { type: 'text/csv', bytes },
    });
    onTestFinished(
      () =>
        void corpus.splice(
          corpus.findIndex((page) => page.path === path),
          1,
        ),
    );
    const prompts: string[] = [];
    lab.script.replace = (asked, request) => {
      if (asked === 'scope')
        return JSON.stringify({
          dimensions: ['Basins', 'Ranges', 'Tides'].map((name) => ({
            name,
            queries: ['Fundy and Ungava basins'],
          })),
        });
      if (asked === 'section') prompts.push(promptOf(request));
      return asked === 'section' ? '' : undefined;
    };
    const { report, claim } = await run({ query: 'Fundy and Ungava basins' });
    expect(prompts[0]).toMatch(
      /^\[\d+\] \| Basin \| Range m \|\n\| Fundy \| 16\.3 \|\n\| Ungava \| 14\.9 \|$/m,
    );
    expect(report).toMatch(/^\| Basin \| Range m \|\n\| --- \| --- \|\n\| Fundy \| 16\.3 \[\d\] \|$/m);
    expect(claim('Ungava — Range m: 14.9')).toMatchObject({ supported: true, judge: 'rules' });
  });
});

describe('forms of citations', () => {
  it.each([
    ['So [1-2].', 'So [1][2].'],
    ['So [1–3].', 'So [1][2][3].'],
    ['So [1, 3].', 'So [1][3].'],
    ['So [1][2].', 'So [1][2].'],
    ['So【1】.', 'So[1].'],
    ['So【1:0†source】.', 'So[1].'],
    ['So [^1].\n\n[^1]: A page, http://x.example', 'So [1].\n'],
    ['So [1](https://x.example/a).', 'So [1].'],
    ['It rose (1). It fell (2, 3).', 'It rose [1]. It fell [2][3].'],
    ['Steps (1) and (2) follow.', 'Steps (1) and (2) follow.'],
    ['It rose (1) and fell [2].', 'It rose (1) and fell [2].'],
    ['In [1999] and [1-900].', 'In [1999] and [1][900].'],
  ])('%j are read as %j', (given, normal) => {
    expect(normaliseCitations(given)).toBe(normal);
  });
});

describe('a statement that fails', () => {
  const FALSE = 'The station at La Rance in Brittany was opened in 1977';
  const other = `${TRUE} [N].`;

  it('goes back to the writer once with the passages, and what it repairs is checked again', async () => {
    lab.script.replace = write(`${FALSE} [N]. Fish swim at 333 knots [N]. ${other}`, (prompt) => [
      { statement: 1, text: 'The station at La Rance in Brittany was opened in 1966 [N].' },
      ...(prompt.includes('Statement 2: Fish swim') ? [{ statement: 2, text: '' }] : []),
    ]);
    const { report, claim, repairs } = await run();
    expect(repairs.length).toBeGreaterThan(0);
    expect(promptOf(repairs[0]!)).toMatch(/Statement 1: .*1977.*\n[\s\S]*<outside-\w+>\n\n\[\d\]/);
    expect(claim('opened in 1966')).toMatchObject({ supported: true, change: 'repaired' });
    expect(report).not.toContain('1977');
    expect(report).not.toContain('333 knots');
    expect(claim('333 knots')).toMatchObject({ change: 'dropped', supported: false });
    expect(report).toContain('1 statement was left out');
  });

  it('is shown with its mark by default, and left out of a strict report', async () => {
    lab.script.replace = write(`${FALSE} [N]. ${other}`, () => [{ statement: 1, text: `${FALSE} [N].` }]);
    const marked = await run();
    expect(marked.report).toMatch(/1977 \[\d\?\]\./);
    expect(marked.snapshot.options.citations).toBe('marked');
    const strict = await run({ citations: 'strict' });
    expect(strict.report).not.toContain('1977');
    expect(strict.report).not.toMatch(/\[\d*\?\]/);
    expect(strict.report).toContain(TRUE);
    expect(strict.claim('1977')).toMatchObject({ change: 'dropped' });
    expect(strict.snapshot).toMatchObject({ options: { citations: 'strict' }, citations: { uncited: 0 } });
  });

  it('ends a strict job with words when nothing holds, and other values are refused', async () => {
    lab.script.replace = (asked, request) =>
      asked === 'section' ? 'Fish swim at 333 knots.' : write('')(asked, request);
    const { snapshot } = await run({ citations: 'strict' });
    expect(snapshot).toMatchObject({
      status: 'error',
      error: expect.stringContaining('citations: "marked"'),
    });
    const refused = await lab.client.post('/api/research/deep', { query: 'tidal power', citations: 'lax' });
    expect(refused.status).toBe(400);
  });

  it('stays as it is when the writer fails or the tokens are used up', async () => {
    const draft = write(`${FALSE} [N]. ${other}`);
    lab.script.replace = (asked, request) =>
      asked === 'repair' ? { fault: 'status', status: 401 } : draft(asked, request);
    expect((await run()).report).toMatch(/1977 \[\d\?\]\./);
    lab.script.replace = (asked, request) => {
      const text = draft(asked, request);
      return asked === 'section' ? { text: String(text), usage: { input: 90_000, output: 9000 } } : text;
    };
    const { repairs, snapshot } = await run({ budget: { tokens: 100_000 } });
    expect(repairs).toEqual([]);
    expect(snapshot.status).toBe('complete');
  });
});

describe('answers of the chat', () => {
  const ask = async (answer: string, id: string) => {
    let calls = 0;
    lab.script.replace = (asked, request) => {
      if (asked === 'checks' && id === 'c-headings') return judgeTopics(request);
      if (asked !== 'other') return undefined;
      calls += 1;
      return calls === 1
        ? { toolCalls: [{ name: 'searchWeb', arguments: { query: 'tidal power background definition' } }] }
        : answer;
    };
    const stream = await lab.client.chat({ id, messages: [{ role: 'user', content: 'What is it?' }] });
    const parts = stream
      .split('\n')
      .filter((line) => line.startsWith('8:'))
      .flatMap((line) => JSON.parse(line.slice(2)) as { type: string; text: string; claims: Claim[] }[]);
    return { stream, checked: parts.find(({ type }) => type === 'citations') };
  };

  it('are checked against what was found, and stored with their marks', async () => {
    const { stream, checked } = await ask(
      'Tidal power turns the rise and fall of the sea into electricity 【1】. It was invented in 1733 [9].',
      'c-statements',
    );
    expect(checked?.text).toMatch(/into electricity \[1\]\. It was invented in 1733 \[\?\]\./);
    expect(checked?.claims).toMatchObject([
      { number: 1, supported: true, judge: 'rules', certain: true },
      { number: null, supported: false, change: 'removed' },
    ]);
    expect(stream.trimEnd().split('\n').at(-1)).toMatch(/^d:/);
    const { messages } = (await lab.client.json('/api/chat/c-statements')) as unknown as {
      messages: { content: string; checked?: { text: string } }[];
    };
    expect(messages[1]?.checked?.text).toBe(checked?.text);
    expect(messages[1]?.content).toContain('【1】');
  });

  it('have headings, of which those that state something are checked, in any language', async () => {
    const { checked } = await ask(
      [
        '### Barrages destroy estuaries',
        'Tidal power turns the rise and fall of the sea into electricity [1].',
        '### Effects on wildlife and people',
        '### Staudämme zerstören Flussmündungen',
        '### Folgen für Tiere und Menschen',
        '### Rise and fall of the sea',
      ].join('\n'),
      'c-headings',
    );
    expect(checked?.text.match(/^### .*$/gm)).toEqual([
      '### Barrages destroy estuaries [?]',
      '### Effects on wildlife and people',
      '### Staudämme zerstören Flussmündungen [?]',
      '### Folgen für Tiere und Menschen',
      '### Rise and fall of the sea',
    ]);
  });

  it('never call a figure surely absent from a page of which only a snippet is known', async () => {
    const { checked } = await ask('Tidal power stations make 8731 gigawatt hours [1].', 'c-snippet');
    expect(checked?.claims[0]).toMatchObject({ supported: false, certain: false });
  });
});
