// Quantities that a page writes in another unit, scale or notation than the claim.
import { describe, expect, it } from 'vitest';
import {
  judgedBy,
  judgedByRules,
  plantedClaims,
  scoreOf,
  truthTeller,
  yesSayer,
} from '../fixtures/planted/planted.ts';
import { checkClaim } from './check.ts';
import { prepareDocument } from './document.ts';

const verdictOn = (claim: string, page: string) => {
  const { supported, certain } = checkClaim(claim, prepareDocument('', page));
  return certain ? (supported ? 'holds' : 'fails') : 'open';
};

const PAGES = {
  en: 'The wall of the harbour is 1.5 km long and was built in 18 months.',
  de: 'Die Mauer des Hafens ist 1,5 km lang und wurde in 18 Monaten gebaut.',
  fr: 'Le mur du port mesure 1,5\u202Fkm et a été bâti en 18 mois.',
  es: 'El muro del puerto mide 1,5 km y se construyó en 18 meses.',
  zh: '港口的城墙全长1.5公里，历时18个月建成。',
  ja: '港の壁の長さは1.5キロメートルである。',
  th: 'กำแพงท่าเรือยาว ๑.๕ กิโลเมตร',
  ar: 'يبلغ طول جدار الميناء ١٫٥ كيلومتر اليوم.',
};

describe('a quantity in another unit', () => {
  it.each([
    ['a unit', 'The wall of the harbour is 1,500 metres long.', PAGES.en],
    ['a rough one', 'The wall of the harbour is nearly 5,000 feet long.', PAGES.en],
    ['time', 'Die Mauer des Hafens ist 1,5 km lang und wurde in anderthalb Jahren gebaut.', PAGES.de],
    ['German', 'Die Mauer des Hafens ist 1.500 Meter lang und wurde in 18 Monaten gebaut.', PAGES.de],
    ['French', 'Le mur du port mesure 1 500 mètres et a été bâti en 18 mois.', PAGES.fr],
    ['Spanish', 'El muro del puerto mide 1.500 metros y se construyó en 18 meses.', PAGES.es],
    ['Chinese', '港口的城墙全长1500米，历时18个月建成。', PAGES.zh],
    ['Japanese', '港の壁の長さは1500メートルである。', PAGES.ja],
    ['Thai', 'กำแพงท่าเรือยาว 1,500 เมตร', PAGES.th],
    ['Arabic', 'يبلغ طول جدار الميناء ١٥٠٠ متر اليوم.', PAGES.ar],
    ['a range', 'The way takes 300 to 420 minutes.', 'The way takes 5–7 hours.'],
    [
      'two units',
      'The journey takes 135 minutes in all.',
      'The journey takes 2 hours and 15 minutes in all.',
    ],
    [
      'two units of the claim',
      'Die Fahrt dauert 2 Stunden 15 Minuten von hier.',
      'Die Fahrt dauert 135 Minuten von hier.',
    ],
    ['a dozen', 'The inn has 24 beds in all.', 'The inn has two dozen beds in all.'],
    ['a scale', 'It drew 1,200,000 people in all.', 'It drew 1.2m people in all.'],
    ['a power', 'The park covers 250 hectares of land.', 'The park covers 2.5 km² of land.'],
    ['degrees', 'The water has about 54 °F in May.', 'The water has 12 °C in May.'],
    ['a share', 'About 33 % of the members are women.', 'A third of the members are women.'],
    ['a speed', 'The train runs at 60 mph at most.', 'The train runs at 60 miles an hour at most.'],
  ])('is never said to fail: %s', (_, claim, page) => {
    expect(verdictOn(claim, page)).not.toBe('fails');
  });

  it.each([
    ['a unit', 'The wall of the harbour is 1,500 miles long.', PAGES.en],
    ['a scale', 'The reserve has 5 hectares of moor.', 'The reserve has 5 million hectares of moor.'],
    ['German', 'Die Mauer des Hafens ist 1.500 Kilometer lang und wurde in 18 Monaten gebaut.', PAGES.de],
    ['French', 'Le mur du port mesure 15 mètres et a été bâti en 18 mois.', PAGES.fr],
    ['Chinese', '港口的城墙全长15米，历时18个月建成。', PAGES.zh],
    ['Japanese', '港の壁の長さは15メートルである。', PAGES.ja],
    ['Thai', 'กำแพงท่าเรือยาว 15 เมตร', PAGES.th],
    ['Arabic', 'يبلغ طول جدار الميناء ١٥ متر اليوم.', PAGES.ar],
    ['a power', 'The park covers 2.5 km of land.', 'The park covers 2.5 km² of land.'],
    ['money', 'The bridge cost 5 million euros.', 'The bridge cost 5 million dollars.'],
  ])('is never said to hold where it is another: %s', (_, claim, page) => {
    expect(verdictOn(claim, page)).not.toBe('holds');
  });

  it('may be rounded only as far as the claim says so or its digits agree', () => {
    const page = 'The wall of the harbour is 1.482 km long.';
    expect(verdictOn('The wall of the harbour is about 1,480 metres long.', page)).toBe('holds');
    expect(verdictOn('The wall of the harbour is 1,482 metres long.', page)).not.toBe('fails');
    expect(verdictOn('The wall of the harbour is 1,700 metres long.', page)).not.toBe('holds');
    expect(verdictOn('The wall of the harbour is about 1,700 metres long.', page)).toBe('fails');
  });
});

describe('the set of claims in other units', () => {
  const claims = plantedClaims('units');

  it('has no sure verdict that is wrong', () => {
    const { sure } = scoreOf(judgedByRules(claims));
    expect(sure.right).toBe(sure.total);
    expect(sure.total).toBeGreaterThanOrEqual(90);
  });

  it('loses no true claim that a judge finds, and few false ones pass one that says yes', async () => {
    const truth = scoreOf(await judgedBy(claims, { model: truthTeller(claims) }));
    expect([truth.precision, truth.recall]).toEqual([1, 1]);
    expect(scoreOf(await judgedBy(claims, { model: yesSayer })).precision).toBeGreaterThan(0.95);
  });
});
