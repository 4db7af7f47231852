import { describe, expect, it } from 'vitest';
import { callTool } from '../call-tool.suite.ts';
import { createFactbook } from './factbook.ts';
import { createLookUp } from './look-up.ts';
import { createWordNet } from './wordnet.ts';

const { signal } = new AbortController();
const factbookLine = 'Source: World Factbook (offline, November 2015).';
const wordNetLine = 'Source: WordNet (offline, version 3.1 of 2011).';
const lookUp = (query: string) => callTool(createLookUp(), { query });

describe('look_up', () => {
  it.each([
    ['What is the capital of Peru?', 'Capital of Peru: Lima.'],
    ["capital of côte d'ivoire", "Capital of Cote d'Ivoire: Yamoussoukro."],
    ["Germany's population", 'Population of Germany: 80,854,408 (July 2015 estimate).'],
    ['How many people live in the USA?', 'Population of United States: 321,368,864 (July 2015 estimate).'],
    [
      'What currency does Mexico use?',
      'Currency and exchange rates of Mexico: Mexican pesos (MXN) per US dollar.',
    ],
    [
      'which countries border Switzerland',
      'Land boundaries of Switzerland (border countries): Austria 158 km',
    ],
    ['population of the world', '7,256,490,011'],
    ['Papua New Guinea', 'Capital of Papua New Guinea: Port Moresby.'],
  ])('knows countries: %s', async (query, words) => {
    const answer = await lookUp(query);
    expect(answer).toContain(words);
    expect(answer).toContain(factbookLine);
  });

  it('compares figures of several countries', async () => {
    expect((await lookUp('Compare the population of Japan and Germany')).split('\n')).toEqual([
      'Population of Japan: 126,919,659 (July 2015 estimate).',
      'Population of Germany: 80,854,408 (July 2015 estimate).',
      "Japan's figure is 1.57 times that of Germany.",
      factbookLine,
    ]);
  });

  it.each([
    [
      'What does serendipity mean?',
      'The noun "serendipity" means: good luck in making unexpected and fortunate discoveries.',
    ],
    [
      'define "zebras".',
      'The noun "zebra" means: any of several fleet black-and-white striped African equines.',
    ],
    ['Synonyms for commence', 'Synonyms of "commence": get down, begin, get, start out'],
    ['hoods', 'The noun "hood" means: (slang) a neighborhood.'],
    ['zymurgy', 'The noun "zymurgy" means: the branch of chemistry concerned with fermentation'],
  ])('knows words: %s', async (query, words) => {
    const answer = await lookUp(query);
    expect(answer).toContain(words);
    expect(answer).toContain(wordNetLine);
  });

  it.each([
    'xyzzy',
    'turkey farming',
    'tell us the truth',
    'aaaa',
    '',
    'x'.repeat(500),
    '\u{10ffff}',
    '__proto__',
  ])('says so where neither knows anything: %s', async (query) => {
    expect(await lookUp(query)).toMatch(/^Nothing was found offline for .*World Factbook .*WordNet/s);
  });

  it('says how to install what is missing', async () => {
    const none = [createFactbook(undefined), createWordNet({ folder: undefined })];
    const missing = none.map((shelf) => ({ ...shelf, isInstalled: () => false }));
    const answer = await callTool(createLookUp(missing), { query: 'capital of Peru' });
    expect(answer).toMatch(
      /^Error: World Factbook \(offline\) is not installed.*npm install.*--omit=optional/,
    );
    const half = await callTool(createLookUp([missing[0] as never, createWordNet()]), {
      query: 'population of Peru',
    });
    expect(half).toMatch(/^Nothing was found.*World Factbook \(offline\) is not installed/);
  });

  it('refuses files that are none of the package', async () => {
    const broken = createLookUp([createFactbook(import.meta.dirname)]);
    expect(await callTool(broken, { query: 'capital of Peru' })).toMatch(/^Error: .*SUMMARY\.md/);
  });
});

describe('an entry', () => {
  it('is a text of whole sentences that name what they are about', async () => {
    const japan = await createFactbook().read('ja', signal);
    expect(japan).toMatchObject({ title: 'Japan' });
    const lines = japan?.text.split('\n') ?? [];
    expect(lines.length).toBeGreaterThan(100);
    expect(lines.filter((line) => !/^[^:]+ of Japan[^:]*: .+\.$/.test(line))).toEqual([]);
    expect(await createWordNet().read('heat_pump', signal)).toMatchObject({ title: 'heat pump' });
  });

  it('is not there under another name', async () => {
    for (const id of ['zz', '../ja', '__proto__']) {
      expect(await createFactbook().read(id, signal)).toBeUndefined();
      expect(await createWordNet().read(`${id}${id}`, signal)).toBeUndefined();
    }
    // Nothing but an ending has no base form; and the licence on top of the files is no entry.
    for (const word of ['ing', '', ' ', '1_this'])
      expect(await createWordNet().read(word, signal)).toBeUndefined();
  });
});

describe('WordNet beside a web search', () => {
  it('looks for no word in a text of a million dots', async () => {
    const wordNet = createWordNet();
    expect(await wordNet.search(`${'.'.repeat(1_000_000)}z`, 5, signal)).toEqual([]);
  });

  it('answers questions about words, not words alone', async () => {
    const shelf = createWordNet({ bareWords: false });
    expect(await shelf.search('tidal', 3, signal)).toEqual([]);
    expect(await shelf.search('tidal power', 3, signal)).toEqual([]);
    expect(await shelf.search('meaning of tidal', 3, signal)).toHaveLength(1);
  });
});
