const words = (text: string) => new Set(text.split(' '));

const VOID = words(
  'area base basefont br col embed frame hr img input keygen link meta param source track wbr',
);
const CLOSES_PARAGRAPH = words(
  'address article aside blockquote details div dl fieldset figcaption figure footer form h1 h2 h3 h4 h5 h6 header hr main nav ol p pre section table ul',
);
/** What the parser closes by itself when one of these opens directly inside it. */
const CLOSED_BY: Readonly<Record<string, ReadonlySet<string>>> = {
  p: CLOSES_PARAGRAPH,
  li: words('li'),
  tr: words('tr'),
  th: words('tr th td'),
  td: words('tr td'),
  dt: words('dt dd'),
  dd: words('dt dd'),
  option: words('option optgroup select'),
  optgroup: words('optgroup'),
  thead: words('td tbody tfoot'),
  tbody: words('tbody tfoot'),
};
/** Beyond this the parser's time grows with the square of the page, and no page for people is nested so deep. */
const DEEPEST = 2000;

/** Whether the page is nested too deep to be parsed, counted as the parser opens and closes elements. */
export function isTooDeep(html: string): boolean {
  const open = new OpenElements();
  for (const [, closing, given = ''] of html.matchAll(/<(\/?)([a-z][^\s/>]*)/gi)) {
    const name = given.toLowerCase();
    if (closing === '/') open.close(name);
    else if (!VOID.has(name)) open.open(name);
    if (open.depth > DEEPEST) return true;
  }
  return false;
}

class OpenElements {
  readonly #names: string[] = [];
  /** How often each name is open, so that an end without a beginning costs nothing. */
  readonly #counts = new Map<string, number>();

  get depth(): number {
    return this.#names.length;
  }

  open(name: string): void {
    for (let top = this.#names.at(-1); top !== undefined; top = this.#names.at(-1)) {
      if (!Object.hasOwn(CLOSED_BY, top) || !CLOSED_BY[top]?.has(name)) break;
      this.#pop();
    }
    this.#names.push(name);
    this.#counts.set(name, (this.#counts.get(name) ?? 0) + 1);
  }

  /** Closes what is open inside it too. */
  close(name: string): void {
    if (!this.#counts.get(name)) return;
    while (this.#pop() !== name);
  }

  #pop(): string | undefined {
    const name = this.#names.pop();
    if (name !== undefined) this.#counts.set(name, (this.#counts.get(name) ?? 1) - 1);
    return name;
  }
}
