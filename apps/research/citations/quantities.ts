import type { Token } from './tokens.ts';

/** A number of a text with its unit, in base units where the unit has one. */
export interface Quantity {
  value: number;
  /** The base unit; empty for a bare count. */
  unit: string;
  /** Half of the last digit that was written: values this close count as the same. */
  tolerance: number;
  /** Place among the tokens, and the place after the last token that belongs to it. */
  at: number;
  end: number;
}

const SCALES: Record<string, number> = {
  hundred: 1e2,
  thousand: 1e3,
  million: 1e6,
  billion: 1e9,
  trillion: 1e12,
  mn: 1e6,
  bn: 1e9,
};

const NUMBER_WORDS = new Map(
  'zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen eighteen nineteen twenty'
    .split(' ')
    .map((word, value) => [word, value] as const),
);
for (const [word, value] of Object.entries({
  thirty: 30,
  forty: 40,
  fifty: 50,
  sixty: 60,
  seventy: 70,
  eighty: 80,
  ninety: 90,
  dozen: 12,
}))
  NUMBER_WORDS.set(word, value);

/** `names = base factor`: what a unit is in its base unit. */
const UNITS = new Map<string, { base: string; factor: number }>();
for (const line of `% percent pct = percent 1|point points = point 1|$ dollar dollars usd = usd 1|€ euro euros eur = eur 1|£ pound pounds gbp = gbp 1|¥ yen = yen 1|krone kroner = krone 1
km kilometre kilometres kilometer kilometers = metre 1000|m metre metres meter meters = metre 1|cm centimetre centimetres centimeter centimeters = metre 0.01|mm millimetre millimetres millimeter millimeters = metre 0.001|mile miles = mile 1|foot feet ft = foot 1|inch inches = inch 1
kg kilogram kilograms kilo kilos = gram 1000|g gram grams = gram 1|mg milligram milligrams = gram 0.001|tonne tonnes ton tons t = tonne 1|lb lbs = lb 1|litre litres liter liters l = litre 1|ml millilitre millilitres = litre 0.001
w watt watts = watt 1|kw kilowatt kilowatts = watt 1000|mw megawatt megawatts = watt 1e6|gw gigawatt gigawatts = watt 1e9|wh = wh 1|kwh = wh 1000|mwh = wh 1e6|gwh = wh 1e9|twh = wh 1e12|v volt volts = volt 1|kv kilovolt kilovolts = volt 1000
hectare hectares ha = hectare 1|acre acres = acre 1|second seconds s = second 1|minute minutes min = second 60|hour hours h = second 3600|day days = day 1|week weeks = day 7|month months = month 1|year years = year 1|decade decades = year 10|century centuries = year 100
° degree degrees celsius = degree 1|age = age 1|fahrenheit = fahrenheit 1|hz = hz 1|khz = hz 1e3|mhz = hz 1e6|ghz = hz 1e9|knot knots = knot 1|mph = mph 1|kmh = kmh 1|byte bytes = byte 1|kb = byte 1e3|mb = byte 1e6|gb = byte 1e9|tb = byte 1e12`.split(
  /[|\n]/,
)) {
  const [names = '', meaning = ''] = line.split(' = ');
  const [base = '', factor = '1'] = meaning.split(' ');
  for (const name of names.trim().split(' ')) UNITS.set(name, { base, factor: Number(factor) });
}

const ORDINALS = new Map(
  'second third fourth fifth sixth seventh eighth ninth tenth'
    .split(' ')
    .map((word, index) => [word, index + 2] as const),
);
ORDINALS.set('twentieth', 20).set('hundredth', 100).set('half', 2).set('halves', 2).set('quarter', 4);

/** "A third" and "two thirds" are parts; "the third" is a place in an order. */
function rankAt(tokens: readonly Token[], at: number): Quantity | undefined {
  const word = tokens[at]?.lower ?? '';
  const base = ORDINALS.get(word) ?? ORDINALS.get(word.replace(/s$/, ''));
  if (base === undefined) return undefined;
  const before = tokens[at - 1]?.lower ?? '';
  const count = NUMBER_WORDS.get(before);
  const isPart =
    base === 2
      ? word !== 'second'
      : word.endsWith('s') || before === 'a' || count !== undefined || word === 'quarter';
  if (word === 'second' && (/^(?:a|per|each|every)$/.test(before) || tokens[at - 1]?.kind === 'number'))
    return undefined;
  const value = isPart ? (count ?? 1) / base : base;
  return { value, unit: isPart ? 'part' : 'place', tolerance: 0, at, end: at + 1 };
}

const CURRENCY = new Set(['$', '€', '£', '¥']);

/** Every number of the sentence that is not part of a date. */
export function quantitiesOf(tokens: readonly Token[], dated: ReadonlySet<number>): Quantity[] {
  const found: Quantity[] = [];
  for (let at = 0; at < tokens.length; at += 1) {
    if (dated.has(at)) continue;
    const isCountOfParts =
      NUMBER_WORDS.has(tokens[at]?.lower ?? '') && rankAt(tokens, at + 1)?.unit === 'part';
    const rank = rankAt(tokens, isCountOfParts ? at + 1 : at);
    if (rank !== undefined) {
      found.push({ ...rank, at });
      at = rank.end - 1;
      continue;
    }
    const start = valueAt(tokens, at);
    if (start === undefined) continue;
    const { quantity, next } = withUnit(tokens, at, start);
    found.push(quantity);
    at = next - 1;
  }
  return found
    .map((quantity, index) => withNextUnit(tokens, quantity, found[index + 1]))
    .map((quantity, index, all) => withLastUnit(tokens, quantity, all[index - 1]))
    .map((quantity, _, all) => withCurrency(tokens, quantity, all));
}

/** In "from 3 to 5 tonnes" the unit stands once and counts for both. */
function withNextUnit(tokens: readonly Token[], quantity: Quantity, next: Quantity | undefined): Quantity {
  const isRange =
    next !== undefined &&
    next.at === quantity.end + 1 &&
    /^(?:to|and|or)$/.test(tokens[quantity.end]?.lower ?? '');
  return quantity.unit === '' && isRange ? { ...quantity, unit: next.unit } : quantity;
}

/** In "from 188 million to 171 million euros" and the like a sum without a currency has that of the sentence. */
function withCurrency(tokens: readonly Token[], quantity: Quantity, all: readonly Quantity[]): Quantity {
  const isSum =
    quantity.unit === '' && tokens.slice(quantity.at, quantity.end).some(({ lower }) => lower in SCALES);
  const next = tokens[quantity.end];
  const money = all.find(({ unit }) => MONEY.has(unit));
  const counts = next?.kind === 'word' && next.content;
  return isSum && !counts && money !== undefined ? { ...quantity, unit: money.unit } : quantity;
}

const MONEY = new Set(['usd', 'eur', 'gbp', 'yen', 'krone']);

/** In "cars at 100 kilometres an hour and lorries at 80" the second number has the unit of the first. */
function withLastUnit(tokens: readonly Token[], quantity: Quantity, last: Quantity | undefined): Quantity {
  const isBare = quantity.unit === '' && tokens.slice(quantity.end).every(({ content }) => !content);
  return isBare && last !== undefined ? { ...quantity, unit: last.unit } : quantity;
}

interface Value {
  value: number;
  tolerance: number;
  next: number;
}

function valueAt(tokens: readonly Token[], at: number): Value | undefined {
  const token = tokens[at];
  if (token === undefined) return undefined;
  if (token.kind === 'number') return scaled(tokens, { ...digits(token.text), next: at + 1 });
  if (isSingle(tokens, at)) return { value: 1, tolerance: 0, next: at + 1 };
  const word = NUMBER_WORDS.get(token.lower);
  if (word === undefined || (token.lower === 'one' && !countsSomething(tokens, at))) return undefined;
  const second = NUMBER_WORDS.get(tokens[at + 1]?.lower ?? '');
  const compound = word >= 20 && word % 10 === 0 && second !== undefined && second > 0 && second < 10;
  const value = compound ? word + second : word;
  return scaled(tokens, { value, tolerance: 0, next: at + (compound ? 2 : 1) });
}

/** The "an" of "more than an hour". */
function isSingle(tokens: readonly Token[], at: number): boolean {
  const [before, word, next] = [at - 1, at, at + 1].map((place) => tokens[place]?.lower ?? '');
  return (
    /^an?$/.test(word ?? '') &&
    UNITS.has(next ?? '') &&
    /^(?:than|under|over|within|about|nearly|almost)$/.test(before ?? '')
  );
}

/** "One" is a count only before a scale or a unit; elsewhere it is a pronoun. */
function countsSomething(tokens: readonly Token[], at: number): boolean {
  const next = tokens[at + 1]?.lower ?? '';
  return next in SCALES || UNITS.has(next);
}

function digits(text: string): { value: number; tolerance: number } {
  const plain = text.replaceAll(',', '');
  const decimals = plain.split('.')[1]?.length ?? 0;
  const zeros = decimals === 0 ? (/0+$/.exec(plain)?.[0].length ?? 0) : 0;
  // "About 3,200" stands for anything that rounds to it; a number without zeros is exact.
  const step = decimals > 0 ? 10 ** -decimals : zeros >= 2 ? 10 ** zeros : 1;
  return { value: Number(plain), tolerance: step === 1 ? 0 : step / 2 };
}

function scaled(tokens: readonly Token[], value: Value): Value {
  const scale = SCALES[tokens[value.next]?.lower ?? ''];
  if (scale === undefined) return value;
  const tolerance = Math.max(value.tolerance, 0.5) * scale;
  return scaled(tokens, { value: value.value * scale, tolerance, next: value.next + 1 });
}

function withUnit(tokens: readonly Token[], at: number, start: Value): { quantity: Quantity; next: number } {
  const before = tokens[at - 1]?.text ?? '';
  const after = tokens[start.next]?.lower ?? '';
  const ahead = after === 'us' ? (tokens[start.next + 1]?.lower ?? '') : after;
  const isAge = /^(?:aged?|ages)$/.test(before) && !UNITS.has(after);
  const name = isAge
    ? 'age'
    : CURRENCY.has(before)
      ? before
      : UNITS.has(after)
        ? after
        : UNITS.has(ahead)
          ? ahead
          : '';
  const isEnergy = /watts?$/.test(name) && /^hours?$/.test(tokens[start.next + 1]?.lower ?? '');
  const isLetter = name.length === 1 && /[a-z]/.test(name) && tokens[start.next]?.capital === true;
  const unit = isLetter ? undefined : UNITS.get(isEnergy ? 'wh' : name);
  const factor = (isEnergy ? UNITS.get(name)?.factor : unit?.factor) ?? 1;
  const used = unit !== undefined && name === after && !CURRENCY.has(before) ? (isEnergy ? 2 : 1) : 0;
  return {
    quantity: {
      value: start.value * factor,
      unit: unit?.base ?? '',
      tolerance: start.tolerance * factor,
      at,
      end: start.next + used,
    },
    next: start.next + used,
  };
}

/** Same unit, and the claim's figure is the passage's one or what it rounds to. */
export function sameQuantity(claim: Quantity, passage: Quantity): boolean {
  const isAge = claim.unit === 'age' || passage.unit === 'age';
  if (isAge && AGES.has(claim.unit) && AGES.has(passage.unit)) return claim.value === passage.value;
  if (claim.unit !== passage.unit) return samePart(claim, passage) || samePart(passage, claim);
  const difference = Math.abs(claim.value - passage.value);
  return difference <= Math.max(claim.tolerance, passage.tolerance, Math.abs(claim.value) * 1e-9);
}

const AGES = new Set(['age', 'year', '']);

/** "Two thirds" and "67 percent". */
function samePart(part: Quantity, percent: Quantity): boolean {
  if (part.unit !== 'part' || percent.unit !== 'percent') return false;
  return Math.abs(part.value * 100 - percent.value) <= 2;
}
