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

describe('claims by somebody who had not read the rules', () => {
  it.each([
    ['quantities-a', 70],
    ['quantities-b', 75],
    ['quantities-c', 50],
    ['quantities-d', 60],
  ])('have no sure verdict that is wrong: %s', async (set, least) => {
    const claims = plantedClaims(set);
    const { sure } = scoreOf(judgedByRules(claims));
    expect(sure.right).toBe(sure.total);
    expect(sure.total).toBeGreaterThanOrEqual(least);
    expect(scoreOf(await judgedBy(claims, { model: truthTeller(claims) })).recall).toBeGreaterThan(0.95);
  });

  const page = (words: string) => `The works at Arle were opened by the mayor in spring. ${words}`;

  it.each([
    ['money', 'The ticket costs $15 for adults.', 'The ticket costs €15 for adults.'],
    ['a bound in signs', 'The oil holds >5 ml of water.', 'The oil holds <5 ml of water.'],
    ['a bound in words', 'The hall holds 300 people.', 'The hall holds up to 300 people.'],
    ['a bound behind', 'The hall was built for 300.', 'The hall was built for 300 or more.'],
    ['a power of ten', 'The vat holds 3 × 10⁻³ moles.', 'The vat holds 3 × 10⁻⁴ moles.'],
    ['a rate', 'The beam bears a load of 30 kN.', 'The beam bears a load of 30 kN/m.'],
    ['points of a share', 'The rate rose by 3 percent.', 'The rate rose by 3 percent points.'],
    ['a product', 'The lake holds 1,200 acres of water.', 'The lake holds 1,200 acre-feet of water.'],
    ['inches', 'The new wheel is 28′ across.', 'The new wheel is 28″ across.'],
    ['hours', 'The old film lasts 5 h in all.', 'The old film lasts 2:05 h in all.'],
    ['a rise', 'The old pond warmed by 41 °F in May.', 'The old pond warmed by 5 °C in May.'],
    ['a capital', 'The old lamp takes 5 mW of power.', 'The old lamp takes 5 MW of power.'],
    ['bits', 'The new link carries 1 GB/s of data.', 'The new link carries 1 Gb/s of data.'],
    ['a permille', 'The salt of it is 35 % at sea.', 'The salt of it is 35 ‰ at sea.'],
  ])('are not said to hold where a mark or word at the figure differs: %s', (_, claim, words) => {
    expect(verdictOn(claim, page(words))).not.toBe('holds');
  });

  it.each([
    ['energy', 'The stove gives 172.8 MJ of heat.', 'The stove gives 48 kWh of heat.'],
    ['fuel', 'The van goes for 12.5 km/l in town.', 'The van goes for 8 l/100 km in town.'],
    ['binary units', 'The card stores 64 GB of data.', 'The card stores 64 GiB of data.'],
    ['bits for bytes', 'The card has 16 Gb of memory.', 'The card has 16 GB of memory.'],
    ['cold', 'The hut is at about 0 °F at night.', 'The hut is at −18 °C at night.'],
    ['another figure of it', 'The line lies at 457 THz.', 'The line lies at 656.3 nm, or 4.57e14 Hz.'],
    ['an unknown unit', 'The bolt takes 45 Nm of force.', 'The bolt takes 45 N·m of force.'],
  ])('are not said to fail where they may be the same: %s', (_, claim, words) => {
    expect(verdictOn(claim, page(words))).not.toBe('fails');
  });

  it('have the unit of the head of a column, in brackets or behind "in", and no other', () => {
    const table =
      '| Lake | Area (km²) | Depth (m) | Height in ft |\n|---|---|---|---|\n| Upper Corran | 12.4 | 87 | 164 |';
    expect(verdictOn('Upper Corran — Depth (m): 87', table)).toBe('holds');
    const [row] = prepareDocument('', table)
      .sentences.slice(-1)
      .map(({ statement }) => statement.tokens.map(({ text }) => text));
    expect(row?.join(' ')).toBe('| Upper Corran | 12.4 km² | 87 m | 164 ft |');
    expect(verdictOn('Upper Corran — Depth (m): 8,700 cm', table)).not.toBe('fails');
    expect(verdictOn('Upper Corran — Depth (m): 87 km', table)).not.toBe('holds');
  });
});
