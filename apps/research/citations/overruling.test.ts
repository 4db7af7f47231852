import { describe, expect, it } from 'vitest';
import { CitationChecker } from './report.ts';

interface Judgement {
  /** The words that a judge who says yes shows. */
  words?: string;
  /** How likely the built-in model finds the claim; it is not asked where this is missing. */
  own?: number;
}

async function verdictOn(claim: string, text: string, { words = text, own }: Judgement = {}) {
  const checker = new CitationChecker([{ number: 1, title: '', text, isWhole: true }], {
    model: async (questions) => questions.map(() => ({ finding: 'supported' as const, words })),
    ...(own !== undefined && {
      own: {
        judge: async (pairs) => pairs.map(() => ({ yes: own, no: (1 - own) / 2, unsaid: (1 - own) / 2 })),
      },
    }),
  });
  const [[line] = []] = await checker.checkDrafts([{ draft: `${claim} [1]`, candidates: [1] }]);
  const { supported, judge, certain, reason } = line!.sentences[0]!.citations[0]!.verdict;
  return { supported, judge, certain, reason };
}

/** The verdict where no language model is asked and the built-in one finds the claim likely. */
async function ownVerdictOn(claim: string, text: string) {
  const own = {
    judge: async (pairs: readonly unknown[]) => pairs.map(() => ({ yes: 0.9, no: 0.05, unsaid: 0.05 })),
  };
  const checker = new CitationChecker([{ number: 1, title: '', text, isWhole: true }], { own });
  const [[line] = []] = await checker.checkDrafts([{ draft: `${claim} [1]`, candidates: [1] }]);
  return line!.sentences[0]!.citations[0]!.verdict;
}

describe('a denial', () => {
  it.each([
    [
      'of what the claim does not speak of',
      'The lodge has 24 beds and a cook from May to July, while the smaller barn sleeps eight.',
      'The lodge has 24 beds and a cook from May to July; the smaller barn sleeps eight and has never had a cook.',
    ],
    ['that is an exception', 'Tea is not served in August.', 'Tea is served afterwards except in August.'],
  ])('%s does not turn it', async (_, claim, text) => {
    expect(await verdictOn(claim, text)).toMatchObject({ supported: true, judge: 'model' });
  });

  it.each([
    [
      'inside the same words',
      'The colour of a label can be changed by its owner afterwards.',
      'The colour of a label can not be changed by its owner.',
    ],
    [
      'at the end',
      'The colour of a label can be changed later.',
      'Names can be changed later; the colour of a label cannot.',
    ],
  ])('%s turns it', async (_, claim, text) => {
    expect(await verdictOn(claim, text)).toMatchObject({
      supported: false,
      reason: 'the passage says the opposite',
    });
  });
});

describe('a month or day that the page does not name', () => {
  const TOWER =
    'Visitors who are fit and do not fear the height may climb the old tower above the harbour from April to October, on Wednesdays to Sundays, for a fee of two pounds, which goes to the lifeboat and to the upkeep of the stairs.';

  it.each(['Nobody may climb the tower in January.', 'The tower is closed to visitors on a Monday.'])(
    'may follow from a range: %s',
    async (claim) => {
      expect(await verdictOn(claim, TOWER)).toMatchObject({ supported: true, judge: 'model' });
    },
  );

  it('is not let pass by the built-in model alone', async () => {
    const claim = 'Nobody may climb the tower in January.';
    expect(await ownVerdictOn(claim, TOWER)).toMatchObject({ supported: false, judge: 'none' });
    expect(await ownVerdictOn('Nobody may climb the tower in spring.', TOWER)).toMatchObject({
      supported: true,
      judge: 'own',
    });
  });

  it.each([
    [
      'The tower opened in January 1999.',
      'The old tower above the harbour opened in 1999, and visitors who are fit may climb it for a small fee from April to October.',
    ],
    [
      'Somebody took charge of it in January.',
      'The keeper of the old tower above the harbour was hired in March after a long search and left again in May.',
    ],
  ])('does not follow from it as a date, or from single ones: %s', async (claim, text) => {
    expect(await verdictOn(claim, text)).toMatchObject({
      supported: false,
      reason: 'what was read of the page does not name "January"',
    });
  });
});

describe('words that do not bear on a claim', () => {
  const TEXT =
    'The ferry needs 40 minutes to Holm. The road is steep. Nobody lives there now. Sheep graze on the hills. The museum of the island shows 64 old boats.';
  const words = 'The ferry needs 40 minutes to Holm.';

  it('make a yes void, whatever the built-in model finds', async () => {
    const claim = 'As many as 64 historic vessels can be seen by whoever goes there.';
    const reason = 'the words shown for it are about something else';
    for (const own of [undefined, 0.2, 0.9])
      expect(await verdictOn(claim, TEXT, { words, ...(own && { own }) })).toMatchObject({
        supported: false,
        reason,
      });
  });

  it('make it void for a claim that repeats the page with another figure', async () => {
    const claim = 'To Holm the ferry needs 64 minutes.';
    expect(await verdictOn(claim, TEXT, { words, own: 0.9 })).toMatchObject({
      supported: false,
      judge: 'rules',
    });
  });

  it('may be about one part of a claim where another sentence has the other part with its figure', async () => {
    const both =
      'The ferry to Holm needs less than an hour, and the museum of the island shows 64 old boats.';
    expect(await verdictOn(both, TEXT, { words })).toMatchObject({ supported: true });
  });
});

describe('a figure that stands nowhere on the page', () => {
  const YARD = 'Between 2014 and 2020 the yard paid a bonus to all of its workers.';

  it.each([
    [
      'Italian',
      'La nave aveva 127 marinai a bordo.',
      'A bordo della nave che lasciò il porto c’erano centoventisette marinai.',
    ],
    [
      'Portuguese',
      'O navio tinha 127 marinheiros.',
      'A bordo do navio que deixou o porto havia cento e vinte e sete marinheiros.',
    ],
    ['Dutch', 'Het schip had 127 matrozen.', 'Aan boord van het schip waren honderdzevenentwintig matrozen.'],
    ['Polish', 'Statek miał 127 marynarzy.', 'Na pokładzie statku było stu dwudziestu siedmiu marynarzy.'],
    ['Swedish', 'Fartyget hade 127 sjömän.', 'Fartyget lämnade hamnen med etthundratjugosju sjömän ombord.'],
    [
      'Catalan',
      'El vaixell tenia 127 mariners.',
      'A bord del vaixell hi havia cent vint-i-set mariners, i els passatgers són més.',
    ],
    ['Russian', 'На корабле было 127 матросов.', 'На борту корабля было сто двадцать семь матросов.'],
  ])(
    'is not surely absent where its words may be in a language that is not read: %s',
    async (_, claim, text) => {
      expect(await verdictOn(claim, text)).toMatchObject({ certain: false });
    },
  );

  it.each([
    ['English', 'The ship was built in 1931.', 'The ship left the port of Holm with its sailors on board.'],
    [
      'German',
      'Das Schiff wurde 1931 gebaut.',
      'Das Schiff verließ mit den Matrosen und dem Lotsen an Bord den Hafen.',
    ],
    [
      'French',
      'Le navire a été construit en 1931.',
      'Le navire a quitté le port avec les marins et le pilote à bord.',
    ],
    [
      'Spanish',
      'El barco fue construido en 1931.',
      'El barco salió del puerto con los marineros y el piloto a bordo.',
    ],
    ['Chinese', '这艘船建于1931年。', '这艘船载着水手离开了港口。'],
  ])('is surely absent if it is a year far from all others: %s', async (_, claim, text) => {
    expect(await verdictOn(claim, text)).toMatchObject({ supported: false, certain: true });
  });

  it.each([
    ['a year near one of the page', 'A bonus was paid to the workers in 2012.', YARD],
    ['a year outside of a range', 'No bonus was paid to the workers in 2012.', YARD],
    [
      'a rough year',
      'By about 1812 the farm had been left.',
      'The farm was begun in 1782 but given up within a few decades because of the drought.',
    ],
    [
      'a calculation',
      'A pensioner with a full plot pays £54.40.',
      'A full plot costs £68 a year. Pensioners who live in the parish get a fifth off the price of their plot.',
    ],
    [
      'an example',
      'A graduate who earns 38,400 marks has to repay something.',
      'Graduates who earn more than 27,400 marks a year have to repay a part of their loan.',
    ],
  ])('is refused, but not as sure, where it may be %s', async (_, claim, text) => {
    expect(await verdictOn(claim, text)).toMatchObject({ certain: false });
  });
});

describe('a month in another language', () => {
  const FRENCH =
    'Le projet a commencé en juin 2014 avec le soutien de plusieurs clients dans le monde entier. Its own name for it is the "May project".';
  const POLISH = 'Projekt rozpoczął się 3 czerwca 2014 roku w Warszawie.';

  it.each([
    ['It says that the project began in June 2014.', FRENCH],
    ['The project began on 3 June 2014.', POLISH],
    ['Das Projekt begann am 3. Juni 2014.', POLISH],
  ])('is the same month: %s', async (claim, page) => {
    expect(await verdictOn(claim, page)).toMatchObject({ supported: true, judge: 'model' });
  });

  it.each([
    ['It says that the project began in July 2014.', FRENCH],
    ['The project began on 3 July 2014.', POLISH],
    ['Das Projekt begann am 3. Juli 2014.', POLISH],
    ['Das Projekt begann im Mai 2014.', 'The project began in June 2014 in Warsaw, with three people.'],
  ])('is another month: %s', async (claim, page) => {
    expect(await verdictOn(claim, page)).toMatchObject({ supported: false, judge: 'rules' });
  });
});

describe('what a judge is shown of a long page', () => {
  const filler = Array.from(
    { length: 60 },
    (_, at) => `Paragraph ${at} tells how a package is fetched from a mirror by APT.`,
  );

  async function excerptOf(claim: string, lines: readonly string[]) {
    let shown = '';
    const checker = new CitationChecker([{ number: 1, title: '', text: lines.join('\n'), isWhole: true }], {
      model: async (questions) =>
        questions.map(({ excerpt }) => {
          shown = excerpt;
          return undefined;
        }),
    });
    await checker.checkDrafts([{ draft: `${claim} [1]`, candidates: [1] }]);
    return shown;
  }

  it('has the items of a list that a line introduces', async () => {
    const list = [
      'A package of a negative priority is one that APT is told to leave.',
      'In more concrete terms, that is about',
      '- < 0: is kept out,',
      '- 0 to 100: waits for its turn,',
      '- > 1000: comes first.',
    ];
    const shown = await excerptOf('A package with a negative priority is never installed.', [
      ...filler.slice(0, 30),
      ...list,
      ...filler.slice(30),
    ]);
    expect(shown).toContain('- < 0: is kept out,');
    expect(shown).toContain('- > 1000: comes first.');
  });

  it('has the line that introduces an item, and the head of a table', async () => {
    const rows = [
      'Debian runs on these:',
      '| System | Machine |',
      '| --- | --- |',
      ...['Irix', 'Ultrix', 'Tru64', 'Domain', 'Unicos', 'Solaris'].map((name) => `| ${name} | ${name}x |`),
    ];
    const shown = await excerptOf('Solaris is matched with Solarisx.', [
      ...filler.slice(0, 30),
      ...rows,
      ...filler.slice(30),
    ]);
    expect(shown).toContain('| System | Machine |');
  });
});

describe('a table', () => {
  const rows = ['Austria', 'Belgium', 'Croatia', 'Denmark', 'Estonia', 'Finland'].map(
    (land, at) => `| ${land} | ${20 + 3 * at} vans |`,
  );

  it('has the scale that its head or the line above it names for every row', async () => {
    const words = rows.at(-1)!;
    const claim = 'In Finland the value came to 35 million euros.';
    const head = ['| Country | Value in million euros |', '| --- | --- |', ...rows].join('\n');
    expect(await verdictOn(claim, head, { words })).toMatchObject({ supported: true });
    const above = ['Value in million euros', '', '| Country | Value |', '| --- | --- |', ...rows].join('\n');
    expect(await verdictOn(claim, above, { words })).toMatchObject({ supported: true });
    const none = ['| Country | Number |', '| --- | --- |', ...rows].join('\n');
    expect(await verdictOn(claim, none, { words })).toMatchObject({ supported: false, judge: 'rules' });
  });
});
