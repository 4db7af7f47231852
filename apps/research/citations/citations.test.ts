import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { startModelServer, temporaryDirectory } from '@trunkline/testing';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import {
  heldOutSets,
  judgedByRules,
  judgedWithModel,
  languageSets,
  opinionsIn,
  plantedClaims,
  type RecordedOpinion,
  readOpinions,
  replayOf,
  scoreOf,
  writeOpinions,
} from '../fixtures/planted/planted.ts';
import { checkClaim } from './check.ts';
import { prepareDocument } from './document.ts';
import { CitationChecker } from './report.ts';

/** Without `blind`, by which nothing is chosen. */
const OLDER_SETS = heldOutSets().filter((set) => !set.startsWith('blind'));

const text = `The old lighthouse on Skagen was built in 1858 and is 46 metres tall. It replaced a smaller tower that had been lit since 1747.
The keeper, Hans Jensen, did not leave his post during the storm of 1881. Visitors may climb 210 steps to the lamp room.`;
const document = prepareDocument('Skagen lighthouse', text);
const check = (claim: string) => checkClaim(claim, document);

describe('the citation checker without a model', () => {
  it.each([
    'Whoever works at sea has seen the old lighthouse of Skagen shine.',
    'The tower is 46 m tall [1].',
    'The lighthouse on Skagen is 46 feet tall.',
  ])('leaves unchecked what needs a reader: %s', (claim) => {
    expect(check(claim)).toMatchObject({
      supported: false,
      certain: false,
      judge: 'none',
      reason: 'no model judged it',
    });
  });

  it('gives the passage nearest to what it leaves unchecked', () => {
    expect(check('One may go up 210 steps to the lamp.').passage?.text).toContain(
      '210 steps to the lamp room',
    );
  });

  it('gives the passage as it stands in the text', () => {
    const { passage } = check('Visitors may climb 210 steps to the lamp room.');
    expect(text.slice(passage?.start, passage?.end)).toBe('Visitors may climb 210 steps to the lamp room.');
  });

  it('is quick on a long text', () => {
    const long = prepareDocument(
      'Long',
      Array.from(
        { length: 4000 },
        (_, index) =>
          `Station ${index} recorded ${index * 3} birds near the river in ${1900 + (index % 100)}.`,
      ).join(' '),
    );
    expect(checkClaim('Station 777 recorded 2331 birds near the river in 1977.', long).supported).toBe(true);
    expect(checkClaim('Station 777 recorded 2332 birds near the river in 1977.', long).supported).toBe(false);
  });

  it('reads citations wherever a draft puts them', async () => {
    const checker = new CitationChecker([
      { number: 1, title: 'Skagen lighthouse', text },
      { number: 2, title: 'Other', text: 'Nothing of the kind stands here.' },
    ]);
    const [[line] = []] = await checker.checkDrafts([
      {
        draft:
          '- The old lighthouse on Skagen was built in 1858. [1] It replaced a smaller tower [2]. Is it open?',
        candidates: [1, 2],
      },
    ]);
    expect(line?.prefix).toBe('- ');
    expect(
      line?.sentences.map(({ text: words, citations, isClaim }) => [
        words,
        citations.map(({ number, verdict }) => `${number} ${verdict.supported}`),
        isClaim,
      ]),
    ).toEqual([
      ['The old lighthouse on Skagen was built in 1858.', ['1 true'], true],
      ['It replaced a smaller tower.', ['1 true'], true],
      ['Is it open?', [], false],
    ]);
  });

  it.each([
    ['Version 3 reads files in the .old format [1].', 'Version 3 reads files in the .old format.'],
    ['It runs on [1] .NET 8 and later.', 'It runs on .NET 8 and later.'],
    ['Lines may end in [1] , or in !important .', 'Lines may end in, or in !important .'],
    ['The rule [1] ::before adds text [1] .', 'The rule ::before adds text.'],
    ['The value is “about .5 [1] ”.', 'The value is “about .5 ”.'],
    ['Le phare est ouvert au public en été [1] !', 'Le phare est ouvert au public en été!'],
    ['Le phare est ouvert au public en été !', 'Le phare est ouvert au public en été !'],
  ])('takes citations out of "%s" and nothing else', async (draft, text) => {
    const checker = new CitationChecker([{ number: 1, title: 'Skagen lighthouse', text: 'It is white.' }]);
    const [[line] = []] = await checker.checkDrafts([{ draft, candidates: [1] }]);
    expect(line?.sentences.map((sentence) => [sentence.text, sentence.statement])).toEqual([[text, text]]);
  });

  it('checks short sentences, and whatever cites something', async () => {
    const checker = new CitationChecker([{ number: 1, title: 'Skagen lighthouse', text }]);
    const [[line] = []] = await checker.checkDrafts([
      { draft: 'Penguins breed there [1]. Penguins breed there. See there [1].', candidates: [1] },
    ]);
    expect(line?.sentences.map(({ isClaim, citations }) => [isClaim, citations.length])).toEqual([
      [true, 1],
      [true, 0],
      [true, 1],
    ]);
  });

  it.each([
    ['The old lighthouse on Skagen was built in 1858.', true],
    ['The keeper, Hans Jensen, did not leave his post.', true],
    ['The keeper, Hans Jensen, left his post during the storm of 1881.', false],
    ['The old lighthouse on Skagen was built in 1885.', false],
  ])('is sure of what has the words of the page, or differs in one thing: %s', (claim, supported) => {
    expect(check(claim)).toMatchObject({ supported, certain: true, judge: 'rules' });
  });

  it.each([
    ['Some ferries carry cars today.', 'All ferries carry cars today.'],
    [
      'The bridge at Rendsburg was designed by Friedrich Voss.',
      'The bridge at Rendsburg was designed by Friedrich Prell.',
    ],
    ['The new line may shorten the journey.', 'The new line shortens the journey.'],
    ['The town sold the old mill in spring.', 'The town bought the old mill in spring.'],
    ['The town council has yet to approve the new mill.', 'The town council has approved the new mill.'],
  ])('is sure that "%s" does not say "%s"', (page, claim) => {
    expect(checkClaim(claim, prepareDocument('', page))).toMatchObject({ supported: false, certain: true });
  });

  it.each([
    ['English', 'Barrages destroy estuaries', 'Barrages of estuaries', 'A barrage changes an estuary [1].'],
    [
      'German',
      'Staudämme zerstören Flussmündungen',
      'Staudämme an Flussmündungen',
      'Ein Staudamm verändert die Flussmündung [1].',
    ],
    ['Russian', 'Плотины разрушают устья рек', 'Плотины в устьях рек', 'Плотина меняет устье реки [1].'],
    ['Chinese', '大坝摧毁河口', '大坝与河口', '大坝改变河口的生态 [1]。'],
    ['Thai', 'เขื่อนทำลายปากแม่น้ำ', 'เขื่อนและปากแม่น้ำ', 'เขื่อนและปากแม่น้ำเปลี่ยนไป [1]'],
  ])('takes a heading of a section for a statement if it says more: %s', async (_, says, names, text) => {
    const checker = new CitationChecker([{ number: 1, title: '', text: 'Words.' }]);
    const headings = async (heading: string) => {
      const draft = { draft: `### ${heading}\n${text}`, candidates: [1], topics: ['Tides'] };
      const [[line] = []] = await checker.checkDrafts([draft]);
      return line?.sentences.map(({ kind, isClaim }) => [kind, isClaim]);
    };
    expect(await headings(says)).toEqual([['heading', true]]);
    expect(await headings(names)).toEqual([['heading', false]]);
  });

  it.each([
    ['Table 2: Costs in 1912', 'Costs in 1912'],
    ['图1：1912年的费用', '1912年的费用'],
    ['表 2: 1912年的费用', '1912年的费用'],
    ['表1.5倍的费用在1912年', '表1.5倍的费用在1912年'],
  ])('checks a caption without its number: %s', async (draft, statement) => {
    const checker = new CitationChecker([{ number: 1, title: '', text: 'Words.' }]);
    const [[line] = []] = await checker.checkDrafts([{ draft, candidates: [1] }]);
    expect(line?.sentences).toMatchObject([{ statement, isClaim: true }]);
  });

  it('believes a model that a heading names a topic, but not that a sentence does', async () => {
    const model = async (questions: readonly unknown[]) =>
      questions.map(() => ({ finding: 'absent' as const, words: '', isTopic: true }));
    const checker = new CitationChecker([{ number: 1, title: '', text: 'Mills ground grain.' }], { model });
    const draft = '### Effects on wildlife\nMills ground corn and salt [1].';
    const [lines = []] = await checker.checkDrafts([{ draft, candidates: [1], topics: [] }]);
    expect(lines.flatMap(({ sentences }) => sentences.map(({ isClaim }) => isClaim))).toEqual([false, true]);
  });

  it.each([
    'Interesse an Wasserkraft wächst',
    'Eiffel a construit le viaduc de Garabit',
    'Verona a differenza di Roma non ha il mare',
  ])('does not take words of another language for an English order: %s', async (heading) => {
    const checker = new CitationChecker([{ number: 1, title: '', text: 'Words.' }]);
    const check = async (words: string) => {
      const [[line] = []] = await checker.checkDrafts([{ draft: `### ${words}`, candidates: [1] }]);
      return line?.sentences[0]?.change;
    };
    expect(await check(heading)).toBeUndefined();
    expect(await check('Empty an old cache of the browser')).toBe('withheld');
  });

  /** What becomes of a sentence without a citation that a page has word for word. */
  const changeOf = async (sentence: string) => {
    const page = `${sentence} Nothing else is known of the matter.`;
    const checker = new CitationChecker([{ number: 1, title: '', text: page }]);
    const [[line] = []] = await checker.checkDrafts([{ draft: sentence, candidates: [1] }]);
    return line?.sentences[0]?.change;
  };

  it.each([
    'Get 5 % off all stations in spring.',
    'Get 20 % off all stations in spring.',
    'Grab one of the last stations in spring.',
    'Choose stations that are built by Brontal.',
    'For clean power, choose Brontal stations in spring.',
    'The station kit is now down to $19.99!',
    'You get a voucher with each station kit.',
    'We build you a station in a week.',
  ])('ties no order and no offer to a page: %s', async (sentence) => {
    expect(await changeOf(sentence)).not.toBe('added');
  });

  it.each([
    'Grab had 5 million drivers in that year.',
    'Join operations in SQL are costly on large tables.',
    'In Java, try blocks catch what a method throws.',
    'A ticket for the tower costs $19.99 in summer.',
    'Chile introduced a voucher system for schools in 1981.',
    'Act 12 of the law shows what you owe the US.',
  ])('ties a statement to a page: %s', async (sentence) => {
    expect(await changeOf(sentence)).toBe('added');
  });

  it('does not take what is to be for what is', () => {
    const page = prepareDocument('', 'The new harbour bridge is to open for cars in spring.');
    expect(checkClaim('The new harbour bridge is open for cars.', page).certain).toBe(false);
  });

  it('is not sure that a figure is absent from a page that is not stored whole', () => {
    const claim = 'The lighthouse was automated in 1987.';
    const page = 'The lighthouse was automated after a long debate and has had no keeper since then.';
    expect(checkClaim(claim, prepareDocument('', page)).certain).toBe(true);
    expect(checkClaim(claim, prepareDocument('', page, false)).certain).toBe(false);
  });

  it.each([
    'Since 1747 a light has warned ships off Skagen.',
    'The keeper stayed where he was in 1881.',
    'One may go up to the lamp.',
    'Penguins breed on icy Antarctic shelves.',
  ])('doubts where the claim is put freely: %s', (claim) => {
    expect(check(claim).certain).toBe(false);
  });

  it.each([
    ['the set that the rules were made with', ['tuning']],
    ['sets that only measure', [...OLDER_SETS, ...languageSets().map(({ set }) => set)]],
  ])('is right in over 98 of 100 of what it is sure of: %s', (_, sets) => {
    const judged = sets.flatMap((set) => judgedByRules(plantedClaims(set)));
    const { sure } = scoreOf(judged);
    expect(sure.total).toBeGreaterThanOrEqual(50);
    expect(sure.right / sure.total).toBeGreaterThan(0.98);
    expect(
      judged.filter(({ verdict }) => !verdict.certain).every(({ verdict }) => verdict.judge === 'none'),
    ).toBe(true);
  });
});

describe('whole checker', () => {
  const SET = `# A mill
The mill at Kerne was sold in 1931. Its wheel has not turned since.
+ Kerne's mill changed hands in the thirties.
+ The mill at Kerne was sold in 1931.
- The wheel is turning to this day.
`;
  const FREELY = "Kerne's mill changed hands in the thirties.";
  const AGAINST = 'The wheel is turning to this day.';
  const opinions: RecordedOpinion[] = [
    { claim: FREELY, title: 'A mill', verdict: 'supported', words: 'was sold in 1931' },
    { claim: AGAINST, title: 'A mill', verdict: 'contradicted', words: 'has not turned since' },
  ];

  let directory: ReturnType<typeof temporaryDirectory>;
  const set = () => join(directory.path, 'mill.txt');
  beforeEach(() => {
    directory = temporaryDirectory();
    writeFileSync(set(), SET);
  });
  afterEach(() => directory.remove());

  /** What the checker finds with a model that answers so, and the prompts that it was sent. */
  async function check(of: string, script: ReturnType<typeof replayOf>) {
    const model = await startModelServer({ script });
    try {
      const judged = await judgedWithModel(plantedClaims(of), model.url);
      return { judged, prompts: model.chats().map(({ messages }) => String(messages[1]?.content)) };
    } finally {
      await model.stop();
    }
  }

  const replay = (of: string, recorded: readonly RecordedOpinion[]) => check(of, replayOf(recorded));

  describe('the whole checker on planted claims', () => {
    it('puts what the rules doubt to the model, and takes what was recorded of it', async () => {
      const { judged, prompts } = await replay(set(), opinions);
      expect(prompts.join('\n').match(/^Claim .*$/gm)).toHaveLength(2);
      expect(
        Object.fromEntries(
          judged.map(({ planted, verdict }) => [planted.claim, `${verdict.supported} by ${verdict.judge}`]),
        ),
      ).toEqual({
        [FREELY]: 'true by model',
        'The mill at Kerne was sold in 1931.': 'true by rules',
        [AGAINST]: 'false by model',
      });
      expect(scoreOf(judged)).toMatchObject({ total: 3, precision: 1, recall: 1 });
    });

    it('is measured with the answers as they are, right or wrong', async () => {
      const wrong = { ...opinions[0]!, verdict: 'not_in_passage' as const, words: '' };
      const { judged } = await replay(set(), [wrong, opinions[1]!]);
      expect(scoreOf(judged)).toMatchObject({ precision: 1, recall: 0.5 });
    });

    it('is not measured when an opinion is missing', async () => {
      await expect(replay(set(), opinions.slice(1))).rejects.toThrow(
        /no opinion was recorded on "Kerne's mill/,
      );
    });

    it('is asked in an order that does not tell which claims are true', async () => {
      const { judged } = await check('held-out', () => JSON.stringify({ verdicts: [] }));
      const pages = [...Map.groupBy(judged, ({ planted }) => planted.title).values()];
      const trueFirst = pages.filter(([first]) => first?.planted.isTrue).length;
      expect(trueFirst).toBeGreaterThan(2);
      expect(trueFirst).toBeLessThan(pages.length - 2);
    });

    it('refuses a claim that a report would not check', async () => {
      writeFileSync(set(), '# A mill\nThe mill was sold.\n+ Was the mill sold?\n');
      await expect(replay(set(), opinions)).rejects.toThrow(/one sentence.*Was the mill sold/);
    });
  });

  describe('recorded opinions', () => {
    it('are read from a prompt and its answer, and lie beside their set', async () => {
      const { prompts } = await replay(set(), opinions);
      const asked = prompts[0]!.match(/(?<=^Claim \d \(passage 1\): ).*$/gm)!;
      const verdicts = asked.map((claim, index) => {
        const { verdict, words } = opinions.find((opinion) => opinion.claim === claim)!;
        return { claim: index + 1, verdict, words };
      });
      expect(readOpinions(set())).toBeUndefined();
      writeOpinions(set(), opinionsIn(prompts[0]!, { verdicts }));
      expect(readOpinions(set())).toEqual(expect.arrayContaining(opinions));
      expect(() => opinionsIn(prompts[0]!, { verdicts: verdicts.slice(1) })).toThrow(
        /1 verdicts on 2 claims/,
      );
      const twice = [verdicts[0]!, verdicts[0]!];
      expect(() => opinionsIn(prompts[0]!, { verdicts: twice })).toThrow(/no verdict on claim 2/);
    });
  });

  const GOAL = 0.95;
  const recorded = heldOutSets().flatMap((name) => {
    const found = readOpinions(name);
    return found === undefined ? [] : [{ name, found }];
  });

  it.each(recorded)('with the answers recorded for $name, as good as is wanted', async ({ name, found }) => {
    const { precision, recall } = scoreOf((await replay(name, found)).judged);
    expect(precision).toBeGreaterThanOrEqual(GOAL);
    expect(recall).toBeGreaterThanOrEqual(GOAL);
  });
});
