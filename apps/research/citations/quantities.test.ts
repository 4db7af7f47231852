import { describe, expect, it } from 'vitest';
import { controlsFor } from './controls.ts';
import { CitationChecker } from './report.ts';

/** What becomes of a statement that cites the text, with a judge that says yes and shows these words of it. */
async function verdictOn(claim: string, text: string, words = text) {
  const model = async (questions: readonly unknown[]) =>
    questions.map(() => ({ finding: 'supported' as const, words }));
  const checker = new CitationChecker([{ number: 1, title: '', text, isWhole: true }], { model });
  const [[line] = []] = await checker.checkDrafts([{ draft: `${claim} [1]`, candidates: [1] }]);
  const { supported, judge, certain, reason } = line!.sentences[0]!.citations[0]!.verdict;
  return { supported, judge, certain, reason };
}

describe('a judge that says yes does not let pass', () => {
  it.each([
    [
      'a scale',
      'The project cost about 120 million euros.',
      'All in all 118.4 billion euros were spent on it.',
    ],
    [
      'a scale, the same figure',
      'The firm earned 3.5 million dollars.',
      'A profit of 3.5 billion dollars went to the firm.',
    ],
    [
      'a scale in place of none',
      'The town has 120 million inhabitants.',
      'There are 120 inhabitants in the town.',
    ],
    [
      'a scale, German',
      'Das Vorhaben kostete 120 Millionen Euro.',
      'Insgesamt wurden dafür 118,4 Milliarden Euro ausgegeben.',
    ],
    [
      'a short scale, German',
      'Das Vorhaben kostete 120 Mio. Euro.',
      'Insgesamt wurden dafür 118,4 Mrd. Euro ausgegeben.',
    ],
    [
      'a scale, French',
      'Le projet a coûté 120 millions d’euros.',
      'En tout, 118,4 milliards d’euros ont été dépensés.',
    ],
    [
      'a scale, Spanish',
      'El proyecto costó 120 millones de euros.',
      'En total se gastaron 118,4 mil millones de euros.',
    ],
    ['a scale, Chinese', '该项目耗资约120万元。', '总共花费了118.4亿元人民币。'],
    ['a scale in one word with its unit, Japanese', 'この町には120億人が住む。', '住民は120万人である。'],
    ['a scale, traditional Chinese', '該項目耗資約120萬元。', '總共花費了118.4億元。'],
    ['a scale, Japanese', 'この計画には約120万円かかった。', '総額は118.4億円に達した。'],
    ['a unit', 'The canal is 45 kilometres long.', 'From sea to sea the canal measures 45 miles.'],
    ['a unit of time', 'The siege lasted 14 months in all.', 'For 14 days the town was under siege.'],
    ['a unit, German', 'Der Kanal ist 45 Kilometer lang.', 'Von Meer zu Meer misst der Kanal 45 Meilen.'],
    ['a unit, Spanish', 'El canal mide 45 kilómetros.', 'De mar a mar hay 45 millas de canal.'],
    ['a unit, French', 'Le canal mesure 45 kilomètres.', 'Le canal est long de 45 mètres.'],
    ['a unit, Japanese', '運河の長さは45キロメートルだ。', 'この運河は全長45メートルである。'],
    [
      'a prefix',
      'The plant has a capacity of 20 gigawatts.',
      'Its capacity, that of the plant, is 20 megawatts.',
    ],
    ['a symbol', 'The park delivers 80 GWh a year.', 'In a year 80 MWh come from the park.'],
    ['a prefix, French', 'La centrale fournit 20 gigawatts.', 'Cette centrale a 20 mégawatts de puissance.'],
    [
      'a number in words',
      'The ship sails with 47 sailors on board.',
      'A crew of fifty-two men serves aboard the ship.',
    ],
    [
      'a number in words, German',
      'Auf dem Schiff dienen 47 Seeleute.',
      'Zweiundfünfzig Mann sind auf dem Schiff tätig.',
    ],
    [
      'a number in words, French',
      'Le navire compte 47 marins.',
      'Quatre-vingt-douze hommes servent sur le navire.',
    ],
    [
      'a number in words, Spanish',
      'El barco lleva 47 marineros.',
      'Cincuenta y dos hombres sirven en el barco.',
    ],
    ['a number in signs, Chinese', '船上共有水手47人。', '这艘船出海时有五十二人在船上服务。'],
    [
      'a number in words of the claim',
      'The ship sails with forty-seven sailors on board.',
      'A crew of 52 sailors serves aboard the ship.',
    ],
    [
      'a year that lies as far from another as a number in words of something else',
      'Traffic over the bridge began in 1933.',
      'The bridge has two towers. It opened in 1931.',
      'The bridge has two towers',
    ],
    ['a small one', 'The school has 10 teachers.', 'At the school there are 9 teachers.'],
    ['a round one', 'The garrison had 100 men.', 'There were 110 men in the garrison.'],
    ['an ordinal that is no part', 'The abbey had 45 monks.', 'In the ninth century the abbey had 81 monks.'],
    [
      'a sum of other things',
      'The ship sails with 47 sailors on board.',
      'The ship sails with 52 men, 3 boats and 2 guns on board.',
    ],
    [
      'a thousand, Spanish',
      'La ciudad tiene 120 millones de habitantes.',
      'En la ciudad hay 120 mil habitantes.',
    ],
    ['a thousand, Italian', 'La città ha 120 milioni di abitanti.', 'Nella città ci sono 120 mila abitanti.'],
    [
      'a scale that other languages use for another number',
      'The firm is worth 3.5 trillion dollars.',
      'All of the firm is worth 3.5 billion dollars.',
    ],
    [
      'a count of something else near a year',
      'The club began in 1943.',
      'The club was founded in 1931. It won 12 of its games.',
      'The club was founded in 1931.',
    ],
    [
      'a number in words above a hundred',
      'The ship sails with 140 sailors on board.',
      'A crew of one hundred and twenty sailors serves aboard the ship.',
    ],
  ])('another figure by %s', async (_, claim, text, words = text) => {
    expect(await verdictOn(claim, text, words)).toMatchObject({ supported: false, judge: 'rules' });
  });
});

describe('a page with many figures', () => {
  const counts = [7, 11, 13, 17, 19, 23, 29, 31, 37, 41, 43, 47, 53, 59, 61, 67];
  const text = counts
    .map((count, at) => `Hall ${'ABCDEFGHIJKLMNOP'[at]} of the museum shows ${count} works.`)
    .join(' ');

  it('does not lead to every other one', async () => {
    expect(await verdictOn('The museum has 319 paintings.', text)).toMatchObject({
      supported: false,
      judge: 'rules',
      certain: false,
    });
  });

  it('yields control questions', () => {
    const excerpt = `${text} The tower has 587 steps.`;
    expect([...controlsFor({ title: '', excerpt })].map(({ claim }) => claim)).toEqual([
      'The tower has 187 steps.',
    ]);
  });
});

describe('a judge may let pass', () => {
  it.each([
    [
      'the same scale',
      'The project cost about 120 million euros.',
      'All in all 118.4 million euros were spent on it.',
    ],
    [
      'a scale that is written out',
      'About 120 million people live there.',
      'It had 118,400,000 inhabitants at the last count.',
    ],
    [
      'two scales',
      'The firm earned 1.2 billion dollars.',
      'A profit of 1,180 million dollars went to the firm.',
    ],
    [
      'a scale that is named once',
      'It took in 15 million visitors.',
      'Between 15 and 20 million visitors came that year.',
    ],
    [
      'two scales, German',
      'Das Vorhaben kostete 1,2 Milliarden Euro.',
      'Insgesamt wurden dafür 1180 Mio. Euro ausgegeben.',
    ],
    ['two scales, Chinese', '该项目耗资1.2亿元。', '总共花费了12000万元人民币。'],
    ['two units', 'The canal is 45 kilometres long.', 'From sea to sea the canal measures 28 miles.'],
    ['two units of time', 'The siege lasted 14 days.', 'For 2 weeks the town was under siege.'],
    [
      'two prefixes',
      'The plant has a capacity of 1.2 gigawatts.',
      'Its capacity, that of the plant, is 1,200 megawatts.',
    ],
    [
      'a number in words',
      'The ship sails with 52 sailors on board.',
      'A crew of fifty-two men serves aboard the ship.',
    ],
    [
      'a number in words, German',
      'Auf dem Schiff dienen 52 Seeleute.',
      'Zweiundfünfzig Mann sind auf dem Schiff tätig.',
    ],
    [
      'a number in words, French',
      'Le navire compte 92 marins.',
      'Quatre-vingt-douze hommes servent sur le navire.',
    ],
    [
      'a number in words, Spanish',
      'El barco lleva 52 marineros.',
      'Cincuenta y dos hombres sirven en el barco.',
    ],
    [
      'the rest of three',
      'Some 10,500 vans were sold elsewhere.',
      'Of 48,000 vans 31,000 were sold here and 6,500 in Austria.',
    ],
    [
      'a number counted in words',
      'The oasis had 45 springs in 1900.',
      'The oasis is fed by 37 springs, eight fewer than in 1900.',
    ],
    ['a part', 'The city pays 17 million.', 'It costs 34 million, half of which the state will pay.'],
    [
      'two thirds',
      'The builder bears 8.4 million.',
      'They split the 12.6 million: two thirds to the builder.',
    ],
    [
      'a product',
      'All lamps together brought in 700 shillings.',
      'The first 50 lamps were sold for 14 shillings each.',
    ],
    ['an average', 'The hotel cost about 116 euros a guest.', 'It owes nine guests 1,040 euros in all.'],
    [
      'the rest of a share',
      'The family still held 30 percent.',
      'The family sold 70 percent of the shares that year.',
    ],
    [
      'a share that is worked out',
      'About 53 percent were in favour.',
      'Of 1,316 votes cast, 702 were in favour.',
    ],
    [
      'a year counted in words',
      'It had been expected to open in 1858.',
      'It was lit in 1861, three years later than planned. The next one followed in 1879.',
    ],
    [
      'the rest of a share in two words',
      'The family still held 30 per cent.',
      'The family sold 70 per cent of the shares that year.',
    ],
    [
      'the rest of a share, German',
      'Der Familie blieben 30 Prozent.',
      'Die Familie verkaufte damals 70 Prozent der Anteile.',
    ],
    [
      'a part, German',
      'Die Stadt zahlt 17 Millionen.',
      'Es kostet 34 Millionen, davon die Hälfte der Staat.',
    ],
    ['a hundred in words', 'The ship has 120 sailors.', 'On the ship one hundred and twenty sailors serve.'],
    [
      'a hundred with an article',
      'The ship has 120 sailors.',
      'On the ship a hundred and twenty sailors serve.',
    ],
    [
      'a hundred in words, French',
      'Le navire compte 120 marins.',
      'Sur le navire servent cent vingt marins.',
    ],
    [
      'hundreds in words, French',
      'Le navire compte 250 marins.',
      'Sur le navire servent deux cent cinquante marins.',
    ],
    ['nonante', 'Le navire compte 92 marins.', 'Sur le navire servent nonante-deux marins.'],
    ['cent nonante', 'Le navire compte 192 marins.', 'Sur le navire servent cent nonante-deux marins.'],
    [
      'a hundred in words, Spanish',
      'El barco lleva 120 marineros.',
      'En el barco sirven ciento veinte marineros.',
    ],
    [
      'hundreds in words, Spanish, of women',
      'La escuela tiene 250 alumnas.',
      'En la escuela estudian doscientas cincuenta alumnas.',
    ],
    [
      'a thousand in words, Spanish',
      'El barco lleva 1200 hombres.',
      'En el barco sirven mil doscientos hombres.',
    ],
    [
      'a thousand in words',
      'The ship carried 1,200 men.',
      'On the ship there were one thousand two hundred men.',
    ],
    [
      'one, beside another number in words',
      'He won 1 title with the club.',
      'He won one title with the club and four titles with the national team.',
    ],
    [
      'an article that is a number in another language',
      'O navio tem 47 marinheiros.',
      'A bordo do navio, o número dos marinheiros é de quarenta e sete.',
    ],
    [
      '125 in words',
      'The yard built 125 ships.',
      'In the yard one hundred and twenty-five ships were built.',
    ],
    [
      '225 in words, German',
      'Auf der Werft entstanden 225 Schiffe.',
      'Auf der Werft wurden zweihundertfünfundzwanzig Schiffe gebaut.',
    ],
    [
      '1250 in words, Spanish',
      'El astillero construyó 1250 barcos.',
      'En el astillero se construyeron mil doscientos cincuenta barcos.',
    ],
    [
      'a number in words that is not understood',
      'The yard built 1,945 ships.',
      'In the yard nineteen forty-five ships were built.',
    ],
    [
      'a number in signs that is not read',
      '该船厂建造了12345艘船。',
      '该船厂共建造了一万二千三百四十五艘船。',
    ],
    [
      'a figure before "in"',
      'In 1950 the network was 38 kilometres long.',
      'The network grew from 38 in 1950 to 45 kilometres in 1990.',
    ],
    [
      'a scale that the text names at its head',
      'Sales rose to 41 million euros this year.',
      'Sales in millions of euros rose from 34 last year to 41 this year.',
    ],
    [
      'a scale that the text names at its head, before things',
      'Sales in France were 41 million euros.',
      'Sales in million euros were 34 Germany, 41 France.',
    ],
    [
      'a scale that the second figure has, German',
      'Es kamen 15 Millionen Besucher.',
      'Es kamen 15 oder 20 Millionen Besucher.',
    ],
    [
      'the rest of three that the page lacks',
      'Of the vans 10,540 were sold elsewhere.',
      'Of 48,000 vans 31,000 were sold here and 6,460 in Austria.',
    ],
    ['an age in words', 'Varga died in 2019.', 'Varga was born in 1950 and died aged sixty-nine.'],
  ])('%s', async (_, claim, text) => {
    expect(await verdictOn(claim, text)).toMatchObject({ supported: true, judge: 'model' });
  });

  it('a figure that the page lacks and that its number in words leads to', async () => {
    const text = 'At the end of the year the port had 138 employees, seven fewer than in the year before.';
    expect(await verdictOn('In the year before the port had 145 workers.', text)).toMatchObject({
      supported: true,
    });
    expect(await verdictOn('In the year before the port had 163 workers.', text)).toMatchObject({
      supported: false,
      judge: 'rules',
    });
  });
});
