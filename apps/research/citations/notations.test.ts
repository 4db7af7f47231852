// Figures that a page writes in another notation than the claim.
import { describe, expect, it } from 'vitest';
import { checkClaim } from './check.ts';
import { prepareDocument } from './document.ts';
import { irrelevanceOf, objectionTo } from './exactness.ts';
import { statementOf } from './statement.ts';

const REST =
  ' The harbour lies in the north of the island and is open to ships of all kinds. It was dredged twice.';

/** Why the claim is refused, whatever a judge says of it: by an objection, by the words shown, or by comparing words. */
function refusalOf(claim: string, page: string): string | undefined {
  const document = prepareDocument('Harbour', `${page}${REST}`);
  const statement = statementOf(claim);
  const verdict = checkClaim(claim, document);
  return (
    objectionTo(statement, document) ??
    irrelevanceOf(statement, document.sentences[0]!.span, document) ??
    (verdict.certain && !verdict.supported ? `surely: ${verdict.reason}` : undefined)
  );
}

describe('figures in another notation', () => {
  it.each([
    ['full width', 'The harbour was built in ２００７.', 'The harbour was built in 2007.'],
    ['bold signs', 'The harbour was built in 𝟐𝟎𝟎𝟕.', 'The harbour was built in 2007.'],
    ['a fraction', 'The way there takes 2½ hours.', 'The way there takes 2.5 hours.'],
    ['a fraction with a stroke', 'The way there takes 2 1/2 hours.', 'The way there takes 2.5 hours.'],
    ['a fraction alone', 'Each lamp needs ¾ litre of oil.', 'Each lamp needs 0.75 litres of oil.'],
    ['no comma', 'The harbour has 12,500 berths.', 'The harbour has 12500 berths.'],
    ['a comma for a dot', 'The quay measures 1,250 metres.', 'The quay measures 1.250 metres.'],
    ['crores', 'The pier cost 3 crore rupees.', 'The pier cost 30 million rupees.'],
    [
      'Roman signs',
      'The stone says that it was founded in MCMLXVI.',
      'It was founded in 1966, says the stone.',
    ],
    ['hundreds', 'It was built in the early eighteen-hundreds.', 'It was built in the early 1800s.'],
    ['the Buddhist era', 'ท่าเรือแห่งนี้สร้างขึ้นใน พ.ศ. 2550', 'The harbour was built in 2007.'],
    ['a Japanese era', 'この港は平成19年に開港した。', 'The harbour was opened in 2007.'],
    ['the era of the republic', '該港於民國96年啟用。', 'The harbour was opened in 2007.'],
  ])('are not refused: %s', (_, page, claim) => {
    expect(refusalOf(claim, page)).toBeUndefined();
  });

  it.each([
    ['full width', 'The harbour was built in ２００７.', 'The harbour was built in 2009.'],
    ['bold signs', 'The harbour was built in 𝟐𝟎𝟎𝟕.', 'The harbour was built in 1927.'],
    ['a fraction', 'The way there takes 12½ hours.', 'The way there takes 12.75 hours.'],
    ['crores', 'The pier cost 3 crore rupees.', 'The pier cost 3 million rupees.'],
    ['a Japanese era', 'この港は平成19年に開港した。', 'The harbour was opened in 1987.'],
    ['the Buddhist era', 'ท่าเรือแห่งนี้สร้างขึ้นใน พ.ศ. 2550', 'The harbour was built in 1550.'],
  ])('are refused where they are others: %s', (_, page, claim) => {
    expect(refusalOf(claim, page)).toBeDefined();
  });

  it.each([
    ['It is -5 °C cold on the pier in winter.', 'It is 5 °C cold on the pier in winter.'],
    ['It is 5 °C warm on the pier in winter.', 'It is −5 °C warm on the pier in winter.'],
    ['Im Winter ist es auf der Mole (-5 °C) kalt.', 'Im Winter ist es auf der Mole (5 °C) kalt.'],
  ])('are not the same without their sign: %s', (page, claim) => {
    expect(checkClaim(claim, prepareDocument('Harbour', page))).toMatchObject({ certain: false });
  });

  it.each([
    ['It is -5 °C cold on the pier in winter.', 'It is −5 °C cold on the pier in winter.'],
    ['The pier is open on 5 -7 May each year.', 'The pier is open on 5 -7 May each year.'],
  ])('are the same with it: %s', (page, claim) => {
    expect(checkClaim(claim, prepareDocument('Harbour', page))).toMatchObject({
      supported: true,
      certain: true,
    });
  });

  it('that were crossed out hold for nobody surely', () => {
    const document = prepareDocument('Harbour', `A berth costs ~~99 euros~~ 79 euros a night.${REST}`);
    expect(checkClaim('A berth costs 99 euros.', document)).toMatchObject({ certain: false });
    const plain = prepareDocument('Harbour', `A berth costs 99 euros a night.${REST}`);
    expect(checkClaim('A berth costs 99 euros.', plain)).toMatchObject({ supported: true, certain: true });
  });

  it('in a quote take nothing of the page apart but its sentences', () => {
    const document = prepareDocument('Harbour', `A berth costs 99 euros a night.${REST}`);
    for (const name of ['inventory', 'notation'])
      Object.defineProperty(document, name, {
        get() {
          throw new Error(`a quote needs no ${name}`);
        },
      });
    expect(checkClaim('A berth costs 99 euros a night.', document)).toMatchObject({
      supported: true,
      certain: true,
    });
  });
});
