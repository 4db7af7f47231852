/** The part of the document tree that is looked at here. */
interface TreeNode {
  type: string;
  name?: string;
  data?: string;
  attribs?: Record<string, string>;
  children?: TreeNode[];
}

const words = (text: string) => new Set(text.split(' '));
const UNREAD = words('script style nav footer noscript template svg iframe head title');
const BLOCKS = words(
  'address article aside blockquote body br button dd details div dl dt fieldset figcaption figure form h1 h2 h3 h4 h5 h6 header hr li main ol option p pre section summary table tbody td tfoot th thead tr ul',
);

/** The text that a reader of the page would read: its main content where it is marked, without scripts and menus. */
export async function htmlText(html: string): Promise<string> {
  // Loaded with the first page: most processes never read one.
  const { load } = await import('cheerio/slim');
  const root = load(html).root()[0] as TreeNode | undefined;
  if (root === undefined) return '';
  for (const candidate of [...marked(root, isMain), ...marked(root, isArticle), root]) {
    const text = textOf(candidate);
    if (text !== '') return text;
  }
  return '';
}

function isMain({ name, attribs }: TreeNode): boolean {
  return name === 'main' || attribs?.role === 'main';
}

function isArticle({ name }: TreeNode): boolean {
  return name === 'article';
}

/** The outermost elements of a kind, in the order of the page. */
function marked(root: TreeNode, isKind: (node: TreeNode) => boolean): TreeNode[] {
  const found: TreeNode[] = [];
  walk(root, (node) => {
    if (isUnread(node)) return [];
    if (!isKind(node)) return node.children ?? [];
    found.push(node);
    return [];
  });
  return found;
}

function textOf(root: TreeNode): string {
  const pieces: string[] = [];
  walk<TreeNode | string>(root, (node) => {
    if (typeof node === 'string') pieces.push(node);
    else if (node.type === 'text') pieces.push((node.data ?? '').replace(/\s+/g, ' '));
    else if (!isUnread(node))
      return BLOCKS.has(node.name ?? '') ? ['\n', ...(node.children ?? []), '\n'] : (node.children ?? []);
    return [];
  });
  return tidy(pieces.join(''));
}

/** Visits a node and then what it answers with; without recursion, as a hostile page may be nested very deep. */
function walk<Item>(root: Item, visit: (item: Item) => readonly Item[]): void {
  const stack = [root];
  while (stack.length > 0) {
    const item = stack.pop() as Item;
    for (const next of visit(item).toReversed()) stack.push(next);
  }
}

function isUnread({ type, name }: TreeNode): boolean {
  return type === 'comment' || type === 'directive' || UNREAD.has(name ?? '');
}

function tidy(text: string): string {
  return text
    .split('\n')
    .map((line) => line.replace(/[^\S\n]+/g, ' ').trim())
    .filter((line) => line !== '')
    .join('\n');
}

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
