import { describe, expect, it } from 'vitest';
import { checkClaim, prepareDocument } from './check.ts';
import { plantedClaims, scoreChecker } from './planted/planted.ts';
import { CitationChecker } from './report.ts';

const text = `The old lighthouse on Skagen was built in 1858 and is 46 metres tall. It replaced a smaller tower that had been lit since 1747.
The keeper, Hans Jensen, did not leave his post during the storm of 1881. Visitors may climb 210 steps to the lamp room.`;
const document = prepareDocument('Skagen lighthouse', text);
const check = (claim: string) => checkClaim(claim, document);

describe('the citation checker', () => {
  it.each([
    'The lighthouse on Skagen was built in 1858.',
    'The tower is 46 m tall [1].',
    '**Hans Jensen** did not leave his post during the storm of 1881.',
    'The old lighthouse replaced a smaller tower.',
  ])('lets through: %s', (claim) => {
    expect(check(claim)).toMatchObject({ supported: true, reason: '' });
  });

  it.each([
    ['The lighthouse on Skagen was built in 1885.', '1885'],
    ['The lighthouse on Skagen is 46 feet tall.', '46'],
    ['The lighthouse on Skagen was built in 1747.', '1747'],
    ['Hans Jensen left his post during the storm of 1881.', 'opposite'],
    ['The keeper, Nils Larsen, did not leave his post during the storm of 1881.', 'Hans Jensen'],
    ['Whales are mammals that breathe air.', ''],
  ])('stops: %s', (claim, words) => {
    const verdict = check(claim);
    expect(verdict.supported).toBe(false);
    expect(verdict.reason).toContain(words);
  });

  const costs = prepareDocument(
    'Power from the sea',
    'In the 2022 auction tidal projects won contracts at 178 pounds, while offshore wind cleared at 37 pounds. Norway backed both; Sweden did not. Prices fell from 210 pounds to 178 pounds.',
  );

  it.each([
    ['Offshore wind was cheaper than tidal projects in 2022.', true],
    ['Tidal power was cheaper than offshore wind in 2022.', false],
    ['Tidal projects won contracts at 37 pounds.', false],
    ['Offshore wind cleared at 37 pounds.', true],
    ['Prices fell from 178 pounds to 210 pounds.', false],
    ['Contracts were won by tidal projects at 178 pounds.', true],
  ])('knows who has which figure: %s', (claim, supported) => {
    expect(checkClaim(claim, costs).supported).toBe(supported);
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
    const [line] = await checker.checkDraft(
      '- The lighthouse on Skagen was built in 1858. [1] It is 46 metres tall [2]. Is it open?',
      [1, 2],
    );
    expect(line?.prefix).toBe('- ');
    expect(
      line?.sentences.map(({ text: words, citations, isClaim }) => [
        words,
        citations.map(({ number, verdict }) => `${number} ${verdict.supported}`),
        isClaim,
      ]),
    ).toEqual([
      ['The lighthouse on Skagen was built in 1858.', ['1 true'], true],
      ['It is 46 metres tall.', ['1 true'], true],
      ['Is it open?', [], false],
    ]);
  });

  it.each([
    { set: 'tuning' as const, precision: 0.91, recall: 0.89 },
    { set: 'held-out' as const, precision: 0.68, recall: 0.48 },
  ])('tells true from false on the $set set, no worse than measured', ({ set, precision, recall }) => {
    const score = scoreChecker(plantedClaims(set));
    expect(score.precision).toBeGreaterThanOrEqual(precision);
    expect(score.recall).toBeGreaterThanOrEqual(recall);
  });
});
