import type { Element } from './tree.ts';

/** The declarations of a rule or a style attribute, by property. */
type Declarations = Map<string, string>;

interface Rule {
  tag: string | undefined;
  id: string | undefined;
  classes: string[];
  weight: number;
  declarations: Declarations;
}

/** What text inherits of how it is shown. */
export interface Shown {
  color: Colour | undefined;
  /** Undefined where it is a picture or comes from a stylesheet that was not read. */
  background: Colour | undefined;
  isTiny: boolean;
  /** Whether a reader sees text here; `doubtful` where that depends on a stylesheet that was not read. */
  text: 'seen' | 'unseen' | 'doubtful';
}

type Colour = readonly [number, number, number];

const RELEVANT =
  /display|visibility|opacity|color|background|font|height|width|left|top|right|bottom|inset|indent|clip|transform|scale|filter|overflow|position/i;
const MOST_RULES = 20_000;
const MOST_SIGNS = 5000;
const LONGEST_SIGN = 300;
const DRAWN = new Set(['svg', 'g', 'switch', 'text', 'tspan', 'textpath']);
const WHITE: Colour = [255, 255, 255];
const BLACK: Colour = [0, 0, 0];

/** Tells from attributes, style attributes and simple rules of style elements whether a reader sees an element. */
export class Visibilities {
  readonly #rules = new Map<string, Rule[]>();
  /** What rules say of elements of a tag, an id and classes: pages repeat the same ones over and over. */
  readonly #ruledBySign = new Map<string, Declarations | undefined>();
  /** Whether another stylesheet may set backgrounds that are not known here. */
  readonly #hasOther: boolean;

  constructor(styles: readonly string[], hasOther: boolean) {
    this.#hasOther = hasOther;
    for (const rule of styles.flatMap(rulesOf).slice(0, MOST_RULES)) {
      const key = rule.id ?? rule.classes[0] ?? rule.tag ?? '';
      const known = this.#rules.get(key) ?? [];
      const plain = isPlain(rule) ? known.find(isPlain) : undefined;
      // Rules for a tag alone weigh the same, and there may be thousands of them.
      if (plain === undefined) known.push(rule);
      else lay(plain.declarations, rule.declarations);
      this.#rules.set(key, known);
    }
  }

  root(): Shown {
    return { color: BLACK, background: this.#hasOther ? undefined : WHITE, isTiny: false, text: 'seen' };
  }

  /** How the text of an element is shown; undefined where the element is not shown at all. */
  of(element: Element, inherited: Shown): Shown | undefined {
    const { attribs, name } = element;
    const given = this.#declarations(element);
    const isOff =
      (attribs.hidden !== undefined && attribs.hidden !== 'until-found' && !given?.has('display')) ||
      attribs['aria-hidden'] === 'true' ||
      ((name === 'dialog' || attribs.popover !== undefined) && attribs.open === undefined) ||
      (DRAWN.has(name) && isUnseen(drawnAs(attribs, name))) ||
      (given !== undefined && isUnseen(given));
    if (isOff) return undefined;
    const color = colourOf(given?.get('color')) ?? (name === 'font' ? colourOf(attribs.color) : undefined);
    const background = backgroundOf(given) ?? colourOf(attribs.bgcolor);
    const size = given?.get('font-size') ?? sizeIn(given?.get('font'));
    const isTiny = size === undefined ? undefined : isTinySize(size);
    const isPicture = hasPicture(given);
    if (color === undefined && background === undefined && isTiny === undefined && !isPicture)
      return inherited;
    const shown = {
      color: color ?? inherited.color,
      background: background ?? (isPicture ? undefined : inherited.background),
      isTiny: isTiny ?? inherited.isTiny,
    };
    return { ...shown, text: this.#seen(shown) };
  }

  /** Whether an unseen element is only folded away, as a panel is, and not made to be overlooked. */
  isClosed(element: Element): boolean {
    const given = new Map(this.#declarations(element));
    for (const name of ['display', 'visibility', 'height', 'max-height']) given.delete(name);
    return !isUnseen(given);
  }

  #seen({ color, background, isTiny }: Omit<Shown, 'text'>): Shown['text'] {
    if (isTiny) return 'unseen';
    if (color === undefined) return 'seen';
    if (background !== undefined) return isSame(color, background) ? 'unseen' : 'seen';
    return isSame(color, WHITE) ? 'doubtful' : 'seen';
  }

  #declarations({ name, attribs }: Element): Declarations | undefined {
    const ruled = this.#rules.size === 0 ? undefined : this.#ruled(name, attribs.id, attribs.class ?? '');
    const own = attribs.style === undefined ? undefined : declarationsOf(attribs.style);
    if (ruled === undefined || own === undefined) return own ?? ruled;
    const merged: Declarations = new Map(ruled);
    lay(merged, own);
    return merged;
  }

  #ruled(name: string, givenId: string | undefined, label: string): Declarations | undefined {
    const id = givenId !== undefined && this.#rules.has(givenId) ? givenId : undefined;
    const sign = JSON.stringify([name, id, label]);
    if (this.#ruledBySign.has(sign)) return this.#ruledBySign.get(sign);
    const matching = this.#matching(name, id, label.split(/\s+/).filter(Boolean));
    const ruled: Declarations | undefined = matching.length === 0 ? undefined : new Map();
    for (const { declarations } of matching) if (ruled !== undefined) lay(ruled, declarations);
    if (this.#ruledBySign.size < MOST_SIGNS && sign.length <= LONGEST_SIGN)
      this.#ruledBySign.set(sign, ruled);
    return ruled;
  }

  #matching(name: string, id: string | undefined, classes: readonly string[]): Rule[] {
    const keys = [name, ...classes, ...(id === undefined ? [] : [id])];
    const found = keys.flatMap((key) => this.#rules.get(key) ?? []);
    if (found.length === 0) return found;
    return found
      .filter(
        (rule) =>
          (rule.tag === undefined || rule.tag === name) &&
          (rule.id === undefined || rule.id === id) &&
          rule.classes.every((each) => classes.includes(each)),
      )
      .toSorted((left, right) => left.weight - right.weight);
  }
}

function isPlain({ id, classes }: Rule): boolean {
  return id === undefined && classes.length === 0;
}

/** The rules of a stylesheet whose selectors are a tag, an id, classes, or those together. Rules for media are left out. */
function rulesOf(style: string): Rule[] {
  const rules: Rule[] = [];
  const plain = withoutComments(style).replace(/<!--|-->/g, '');
  for (const { selectors, body } of blocksOf(plain)) {
    if (selectors.startsWith('@') || !RELEVANT.test(body)) continue;
    const declarations = declarationsOf(body);
    for (const selector of selectors.split(',')) {
      const match = /^(?:\*|([a-z][\w-]*))?((?:[.#][\w-]+)*)$/i.exec(selector.trim());
      if (match === null) continue;
      const names = match[2]?.match(/[.#][\w-]+/g) ?? [];
      const classes = names.filter((each) => each.startsWith('.')).map((each) => each.slice(1));
      const id = names.find((each) => each.startsWith('#'))?.slice(1);
      const tag = match[1]?.toLowerCase();
      const weight = (id === undefined ? 0 : 100) + classes.length * 10 + (tag === undefined ? 0 : 1);
      rules.push({ tag, id, classes, weight, declarations });
    }
  }
  return rules;
}

/** The outermost blocks in braces, each with what leads it. */
function* blocksOf(style: string): Generator<{ selectors: string; body: string }> {
  let [start, opened, depth] = [0, 0, 0];
  for (let at = 0; at < style.length; at += 1) {
    const character = style[at];
    if (character === '{') {
      depth += 1;
      if (depth === 1) opened = at;
    } else if (character === '}' && depth > 0) {
      depth -= 1;
      if (depth === 0) {
        yield { selectors: style.slice(start, opened).trim(), body: style.slice(opened + 1, at) };
        start = at + 1;
      }
    } else if (character === ';' && depth === 0) start = at + 1;
  }
}

function declarationsOf(body: string): Declarations {
  const declarations: Declarations = new Map();
  for (const declaration of body.split(';')) {
    const colon = declaration.indexOf(':');
    if (colon === -1) continue;
    const name = declaration.slice(0, colon).trim().toLowerCase();
    const value = declaration
      .slice(colon + 1)
      .trim()
      .toLowerCase();
    const important = /^(.*?)\s*!\s*important$/s.exec(value.slice(0, LONGEST_VALUE))?.[1];
    const given: Declarations = new Map([[name, important ?? value]]);
    if (important !== undefined) given.set(`!${name}`, important);
    lay(declarations, given);
  }
  return declarations;
}

const LONGEST_VALUE = 1000;

/** Lays declarations over others; an important one, which stands a second time behind "!", yields only to such. */
function lay(under: Declarations, over: Declarations): void {
  for (const [key, value] of over)
    if (key.startsWith('!') || !under.has(`!${key}`) || over.has(`!${key}`)) under.set(key, value);
}

function withoutComments(style: string): string {
  const kept: string[] = [];
  for (let at = 0; ; ) {
    const start = style.indexOf('/*', at);
    const end = start === -1 ? -1 : style.indexOf('*/', start + 2);
    kept.push(style.slice(at, start === -1 ? undefined : start));
    if (end === -1) return kept.join('');
    at = end + 2;
  }
}

const FAR = 900;

function isUnseen(given: Declarations): boolean {
  const value = (name: string) => given.get(name) ?? '';
  const size = (name: string) => (given.has(name) ? Number.parseFloat(value(name)) : Number.NaN);
  if (value('display') === 'none' || /^(?:hidden|collapse)$/.test(value('visibility'))) return true;
  if (value('content-visibility') === 'hidden' || /opacity\(\s*0*(?:\.0\d*)?%?\s*\)/.test(value('filter')))
    return true;
  if (size('opacity') < 0.05) return true;
  if (['color', '-webkit-text-fill-color'].some((name) => isClear(value(name))))
    return !/text/.test(`${value('background-clip')} ${value('-webkit-background-clip')}`);
  if (
    ['left', 'top', 'right', 'bottom', 'text-indent', 'margin-left', 'margin-top'].some((name) =>
      isFarOff(value(name)),
    ) ||
    value('inset').split(/\s+/).some(isFarOff)
  )
    return true;
  if (/rect\(\s*(?:0|1px)/.test(value('clip')) || isClippedAway(value('clip-path'))) return true;
  if (/^0(?:\.0+)?(?:\s|$)/.test(value('scale'))) return true;
  if (/scale(?:[xy]|3d)?\(\s*0(?:\s*[,)])|translate[xy]?\(\s*-\d{4,}/.test(value('transform'))) return true;
  const smallest = Math.min(
    ...['width', 'max-width', 'height', 'max-height'].map(size).filter((each) => !Number.isNaN(each)),
  );
  const overflow = `${value('overflow')} ${value('overflow-x')} ${value('overflow-y')}`;
  return (smallest <= 1 && /hidden|clip/.test(overflow)) || (smallest <= 0 && /auto|scroll/.test(overflow));
}

/** Whether a colour lets all behind it through. */
function isClear(value: string): boolean {
  if (value === 'transparent' || /^#(?:[0-9a-f]{3}0|[0-9a-f]{6}0[0-9a-d])$/.test(value)) return true;
  return /^[a-z]+\((?:[^,/]*,[^,/]*,[^,/]*,|[^,/]*\/)\s*0*(?:\.0\d*)?%?\s*\)$/.test(value);
}

function isClippedAway(value: string): boolean {
  if (/inset\(\s*(?:50|100)%|(?:circle|ellipse)\(\s*0/.test(value)) return true;
  const points = /polygon\(([^)]*)\)/.exec(value)?.[1]?.split(',') ?? [];
  return points.length > 0 && new Set(points.map((point) => point.trim())).size === 1;
}

/** The size of the type in the shorthand, as in "0/0 a" and "bold 12px/1.5 serif". */
function sizeIn(font: string | undefined): string | undefined {
  return font === undefined ? undefined : /(?:^|\s)((?:\d*\.)?\d+(?:[a-z]+|%)?)(?=\/|\s)/.exec(font)?.[1];
}

/** What attributes of a drawing say as declarations do. */
function drawnAs(
  { display, visibility, opacity, fill, stroke, width, height }: Element['attribs'],
  name: string,
): Declarations {
  const isEmpty =
    name === 'svg' && [width, height].some((size) => size !== undefined && Number.parseFloat(size) === 0);
  const isLabel = name === 'text' || name === 'tspan';
  const isOutlined = stroke !== undefined && stroke !== 'none';
  return new Map(
    Object.entries({
      display: isEmpty ? 'none' : display,
      visibility,
      opacity,
      // Of what only leads to labels it holds where they set none, which is not looked for.
      color: isLabel && !isOutlined && fill === 'none' ? 'transparent' : fill,
    }).flatMap(([property, value]) => (value === undefined ? [] : [[property, value.trim().toLowerCase()]])),
  );
}

function isTinySize(value: string): boolean {
  const size = Number.parseFloat(value);
  if (size === 0 || (size < 1.5 && /^[\d.]+(?:px|pt)?$/.test(value))) return true;
  return value.endsWith('%') ? size < 10 : size < 0.1;
}

function isFarOff(value: string): boolean {
  const amount = Number.parseFloat(value);
  return (
    amount <= -FAR || (amount <= -60 && /em|vw|vh/.test(value)) || (amount <= -100 && value.endsWith('%'))
  );
}

function hasPicture(given: Declarations | undefined): boolean {
  return /url\(|gradient\(|var\(/.test(
    `${given?.get('background') ?? ''} ${given?.get('background-image') ?? ''}`,
  );
}

function backgroundOf(given: Declarations | undefined): Colour | undefined {
  if (given === undefined || hasPicture(given)) return undefined;
  const value = given.get('background-color') ?? given.get('background');
  return (
    colourOf(value) ??
    value
      ?.split(/\s+/)
      .map(colourOf)
      .find((each) => each !== undefined)
  );
}

const NAMED: Record<string, Colour> = {
  white: WHITE,
  black: BLACK,
  snow: [255, 250, 250],
  ivory: [255, 255, 240],
  whitesmoke: [245, 245, 245],
  red: [255, 0, 0],
  blue: [0, 0, 255],
  green: [0, 128, 0],
  yellow: [255, 255, 0],
  gray: [128, 128, 128],
  grey: [128, 128, 128],
  silver: [192, 192, 192],
  navy: [0, 0, 128],
};

function colourOf(value: string | undefined): Colour | undefined {
  const text = value?.trim().toLowerCase() ?? '';
  const named = NAMED[text];
  if (named !== undefined) return named;
  const hex = /^#([0-9a-f]{3,8})$/.exec(text)?.[1];
  if (hex !== undefined) {
    const full = hex.length < 6 ? [...hex.slice(0, 3)].map((each) => each + each).join('') : hex.slice(0, 6);
    const number = Number.parseInt(full, 16);
    return [number >> 16, (number >> 8) & 255, number & 255];
  }
  const grey = /^hsla?\([^,%]*?[\s,]+[\d.]+%[\s,]+(0|100)%/.exec(text)?.[1];
  if (grey !== undefined) return grey === '0' ? BLACK : WHITE;
  const parts = /^rgba?\(([^)]*)\)$/
    .exec(text)?.[1]
    ?.split(/[\s,/]+/)
    .map((part, place) =>
      part.endsWith('%') ? Number.parseFloat(part) * (place < 3 ? 2.55 : 0.01) : Number(part),
    );
  const [red, green, blue, alpha = 1] = parts ?? [];
  if (red === undefined || green === undefined || blue === undefined || alpha < 0.5) return undefined;
  return [red, green, blue];
}

/** Too near to be told apart. */
function isSame(one: Colour, other: Colour): boolean {
  return one.every((value, at) => Math.abs(value - (other[at] ?? 0)) <= 12);
}
