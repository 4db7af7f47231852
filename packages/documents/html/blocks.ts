import type { BlockKind, Piece, Region } from '../document.ts';
import { turnedRound } from '../invisible.ts';
import { markdownTables } from '../table.ts';
import { gridOf, isLayout, rowsOf } from './grid.ts';
import type { Facts } from './regions.ts';
import { descendants, type Element, textContent } from './tree.ts';

const BLOCKS = new Set(
  'address article aside blockquote body center dd details dialog dir div dl dt fieldset figcaption figure footer form h1 h2 h3 h4 h5 h6 header hgroup hr html legend li main menu nav ol p pre search section summary table tbody td template tfoot th thead tr ul option'.split(
    ' ',
  ),
);
const DIGITS = '⁰¹²³⁴⁵⁶⁷⁸⁹';
/** Marks that lead to a note, and signs that lead to the heading they stand behind. */
const MARK =
  /^\s*(?:\[?(?:\d{1,3}|[a-z*†‡§])\]?|\[(?:note|nb|citation needed|edit)\s*\d*\]|¶|#|§|↑|\^|↩︎?)\s*$/i;

/** Writes the elements of a page as pieces of Markdown, in the order of the page. */
export function writeBlocks(elements: readonly Element[], facts: ReadonlyMap<Element, Facts>): Piece[] {
  const writer = new BlockWriter(facts);
  for (const element of elements) writer.write(element);
  writer.flush();
  return writer.pieces;
}

class BlockWriter {
  readonly pieces: Piece[] = [];
  readonly #facts: ReadonlyMap<Element, Facts>;
  #line = '';
  #linked = 0;
  #kind: BlockKind = 'paragraph';
  #region: Region = 'main';
  /** What the next line begins with: the mark of a list item, or the term of a definition. */
  #lead = '';
  #level = 0;
  /** The places of the items in the list that was numbered last. */
  #numbers: { list: Element | undefined; places: Map<Element | string, number> } = {
    list: undefined,
    places: new Map(),
  };

  constructor(facts: ReadonlyMap<Element, Facts>) {
    this.#facts = facts;
  }

  write(node: Element | string, inLink = false): void {
    if (typeof node === 'string') {
      this.#line += node;
      if (inLink) this.#linked += node.trim().length;
      return;
    }
    const facts = this.#facts.get(node);
    if (facts === undefined) return;
    const region = facts.shown.text === 'doubtful' && facts.region === 'main' ? 'side' : facts.region;
    if (region === this.#region) {
      this.#element(node, inLink, facts);
      return;
    }
    // A mark or a few words of another region inside a line do not break it.
    const outer = this.#region;
    const [line, linked, kind, lead] = [this.#line, this.#linked, this.#kind, this.#lead];
    [this.#line, this.#linked, this.#lead] = ['', 0, ''];
    this.#region = region;
    this.#kind = 'paragraph';
    this.#element(node, inLink, facts);
    this.flush();
    this.#region = outer;
    [this.#line, this.#linked, this.#kind, this.#lead] = [line, linked, kind, lead];
    if (BLOCKS.has(node.name)) this.flush();
  }

  flush(): void {
    const text = tidyLine(this.#line);
    const [kind, lead, linked] = [this.#kind, this.#lead, this.#linked];
    [this.#line, this.#linked] = ['', 0];
    if (text === '') return;
    this.#lead = '';
    this.#push(kind, `${lead}${text}`, linked);
  }

  #push(kind: BlockKind, text: string, linked = 0): void {
    const level = kind === 'heading' ? this.#level : undefined;
    const region = this.#region;
    this.pieces.push({
      kind: region === 'note' && kind === 'item' ? 'note' : kind,
      region,
      text,
      linked,
      ...(level && { level }),
    });
  }

  #children(node: Element, inLink: boolean): void {
    const { shown } = this.#facts.get(node) ?? {};
    for (const child of node.children)
      if (typeof child !== 'string' || shown?.text !== 'unseen') this.write(child, inLink);
  }

  /** Writes the children as blocks of a kind. */
  #block(node: Element, kind: BlockKind, inLink: boolean, lead = ''): void {
    this.flush();
    const outer = this.#kind;
    if (lead !== '' || kind !== outer) this.#writeTerm();
    this.#kind = kind;
    this.#lead = lead || this.#lead;
    this.#children(node, inLink);
    this.flush();
    this.#writeTerm();
    this.#kind = outer;
  }

  /** Writes a term that stands before no text of its own, but before a list, a table or nothing. */
  #writeTerm(): void {
    const term = /^- (.+): $/s.exec(this.#lead)?.[1];
    this.#lead = '';
    if (term !== undefined) this.#push('definition', `- ${term}`);
  }

  #element(node: Element, inLink: boolean, facts: Facts): void {
    const { name, attribs } = node;
    switch (name) {
      case 'br':
        this.#line += '\u2028';
        return;
      case 'hr':
        this.flush();
        return;
      case 'img':
      case 'area':
        this.#image(attribs.alt ?? '');
        return;
      case 'pre':
      case 'textarea':
        this.#code(node);
        return;
      case 'svg':
        this.#drawing(node, inLink);
        return;
      case 'del':
      case 's':
      case 'strike':
        this.#struck(node, inLink);
        return;
      case 'sup':
        this.#superscript(node, inLink);
        return;
      case 'a':
        if (isMark(node)) return;
        this.#children(node, inLink || attribs.href !== undefined);
        return;
      case 'q':
        this.#line += '“';
        this.#children(node, inLink);
        this.#line += '”';
        return;
      case 'rt':
        this.#line += ' (';
        this.#children(node, inLink);
        this.#line += ')';
        return;
      case 'table':
        this.#table(node, inLink, facts);
        return;
      case 'li':
        this.#block(node, 'item', inLink, this.#itemLead(node));
        return;
      case 'dl':
        this.#definitions(node, inLink);
        return;
      case 'figcaption':
      case 'caption':
        this.#block(node, 'caption', inLink);
        return;
      case 'option':
      case 'summary':
      case 'legend':
        this.#block(node, 'paragraph', inLink);
        return;
      default: {
        const level =
          /^h([1-6])$/.exec(name)?.[1] ??
          (attribs.role === 'heading' ? (attribs['aria-level'] ?? '2') : undefined);
        if (level !== undefined) {
          this.flush();
          this.#level = Math.min(6, Math.max(1, Math.trunc(Number(level)) || 2));
          this.#block(node, 'heading', inLink, `${'#'.repeat(this.#level)} `);
        } else if (BLOCKS.has(name)) {
          this.flush();
          this.#children(node, inLink);
          this.flush();
        } else if (isTurned(attribs, name)) this.#rewritten(node, inLink, turnedRound);
        else this.#children(node, inLink);
      }
    }
  }

  /** Writes what stands inside a line in another form. */
  #rewritten(node: Element, inLink: boolean, write: (text: string) => string): void {
    const before = this.#line;
    this.#line = '';
    this.#children(node, inLink);
    this.#line = `${before}${this.#line === '' ? '' : write(this.#line)}`;
  }

  /** What was crossed out no longer holds, which a reader sees; whole blocks are left as they are. */
  #struck(node: Element, inLink: boolean): void {
    const isInline = descendants(node).every(({ name }) => !BLOCKS.has(name) && name !== 'br');
    if (isInline) this.#rewritten(node, inLink, (text) => `~~${text.trim()}~~`);
    else this.#children(node, inLink);
  }

  /** The labels of a drawing, such as a chart, and text of the page that stands in it. */
  #drawing(drawing: Element, inLink: boolean): void {
    const labels: string[] = [];
    const look = (node: Element): void => {
      for (const child of node.children) {
        if (typeof child === 'string' || !this.#facts.has(child)) continue;
        if (child.name === 'foreignobject') this.#block(child, 'paragraph', inLink);
        else if (child.name === 'text') labels.push(tidyLine(this.#seenText(child)).replaceAll('\n', ' '));
        else look(child);
      }
    };
    look(drawing);
    this.#image(labels.filter(Boolean).join(' · '));
  }

  #seenText(node: Element): string {
    const { shown } = this.#facts.get(node) ?? {};
    if (shown === undefined) return '';
    return node.children
      .map((child) =>
        typeof child === 'string' ? (shown.text === 'unseen' ? '' : child) : this.#seenText(child),
      )
      .join(' ');
  }

  #itemLead(item: Element): string {
    const { parent } = item;
    if (parent?.name !== 'ol') return '- ';
    if (this.#numbers.list !== parent) {
      const items = parent.children.filter((child) => typeof child !== 'string' && child.name === 'li');
      this.#numbers = { list: parent, places: new Map(items.map((each, place) => [each, place])) };
    }
    return `${Number(parent.attribs.start ?? 1) + (this.#numbers.places.get(item) ?? 0)}. `;
  }

  /** An image's description is kept with the rest: most readers do not see it. */
  #image(alt: string): void {
    const text = tidyLine(alt);
    if (text.length < 3 || /^(?:image|photo|logo|icon|avatar)$/i.test(text)) return;
    const region = this.#region === 'main' ? 'side' : this.#region;
    this.pieces.push({ kind: 'image', region, text: `Image: ${text}` });
  }

  #code(node: Element): void {
    this.flush();
    this.#writeTerm();
    const doubtful: string[] = [];
    const shown = (child: Element | string, isSeen: boolean): string => {
      if (typeof child === 'string') return isSeen ? child : '';
      const { text } = this.#facts.get(child)?.shown ?? {};
      if (text === undefined) return '';
      if (child.name === 'br') return '\n';
      const inner = child.children.map((each) => shown(each, text !== 'unseen')).join('');
      if (text !== 'doubtful' || child === node) return inner;
      doubtful.push(tidyLine(inner));
      return '';
    };
    const text = shown(node, true).replace(/\r\n?/g, '\n').replace(/^\n+/, '').trimEnd();
    if (text !== '') this.#push('code', `\`\`\`\n${text}\n\`\`\``);
    for (const each of doubtful) this.pieces.push({ kind: 'code', region: 'side', text: each });
  }

  /** A power becomes a raised digit, as "10⁶" says something else than "106"; marks of notes go. */
  #superscript(node: Element, inLink: boolean): void {
    const text = textContent(node);
    const hasLink = node.children.some((child) => typeof child !== 'string' && child.name === 'a');
    if (/reference|footnote|noteref/i.test(node.attribs.class ?? '') || (hasLink && MARK.test(text))) return;
    if (/^[-−]?\d{1,3}$/.test(text.trim())) {
      this.#line += text
        .trim()
        .replace(/[-−]/, '⁻')
        .replace(/\d/g, (digit) => DIGITS[Number(digit)] ?? digit);
      return;
    }
    this.#children(node, inLink);
  }

  /** Terms stand before each of their definitions, as "Founded" means nothing without "1901". */
  #definitions(list: Element, inLink: boolean): void {
    this.flush();
    this.#writeTerm();
    let term = '';
    const take = (node: Element): void => {
      const elements = node.children.filter((child) => typeof child !== 'string');
      for (const [place, child] of elements.entries()) {
        const facts = this.#facts.get(child);
        if (facts === undefined) continue;
        if (child.name === 'dt') {
          if (term !== '') this.#push('definition', `- ${term}`);
          term = this.#inline(child);
          if (term.length > 80 || /[?？]$/.test(term)) {
            this.#push('paragraph', term);
            term = '';
          }
        } else if (child.name === 'dd' && facts.shown.text !== 'doubtful') {
          this.#block(
            child,
            'definition',
            inLink,
            `- ${term === '' ? '' : `${term.replace(/\s*:$/, '')}: `}`,
          );
          term = elements[place + 1]?.name === 'dd' ? term : '';
        } else if (child.name === 'div') take(child);
        else this.write(child, inLink);
      }
    };
    take(list);
    if (term !== '') this.#push('definition', `- ${term}`);
  }

  #table(table: Element, inLink: boolean, facts: Facts): void {
    this.flush();
    this.#writeTerm();
    const rows = rowsOf(table, this.#facts);
    if (isLayout(table, rows)) {
      for (const row of rows) for (const cell of row) this.#block(cell, 'paragraph', inLink);
      return;
    }
    for (const child of table.children)
      if (typeof child !== 'string' && child.name === 'caption') this.write(child, inLink);
    const pairs = rows.every(
      ([head, value, more]) => head?.name === 'th' && value?.name !== 'th' && more === undefined,
    );
    const grid = gridOf(rows, (cell) => this.#inline(cell));
    if (pairs) {
      for (const [head = '', value = ''] of grid)
        if (value !== '') this.#push('definition', `- ${head.replace(/\s*:$/, '')}: ${value}`);
        else if (head !== '') this.#push('paragraph', head);
      return;
    }
    for (const text of markdownTables(grid)) this.#push('table', text, facts.linked);
  }

  /** The text of an element on one line. */
  #inline(node: Element): string {
    const inner = new BlockWriter(this.#facts);
    const { region = 'main' } = this.#facts.get(node) ?? {};
    inner.#region = region;
    inner.write(node);
    inner.flush();
    this.pieces.push(...inner.pieces.filter(({ kind }) => kind === 'image'));
    return inner.pieces
      .filter(({ kind, region: own }) => kind !== 'image' && own === region)
      .map(({ text, kind }) =>
        kind === 'item' ? text.replace(/^(?:-|\d+\.) /, '') : text.replace(/^#+ |```/g, ''),
      )
      .join(' ')
      .replace(/\s+/g, ' ')
      .trim();
  }
}

/** Shown from right to left, whatever the script. */
function isTurned({ dir, style = '' }: Element['attribs'], name: string): boolean {
  if (name === 'bdo') return dir === 'rtl';
  return /(?:bidi|isolate)-override/i.test(style) && /direction\s*:\s*rtl/i.test(style);
}

/** Whether a link is only a sign that leads to a note, or from a heading to itself. */
function isMark(link: Element): boolean {
  const text = textContent(link);
  if (!MARK.test(text)) return false;
  const { href = '', class: name = '' } = link.attribs;
  const isSign =
    /\[|[¶#§↑^↩]/.test(text) || /foot|note|ref|anchor|headerlink|hash-link/i.test(`${name} ${href}`);
  return isSign && href.includes('#');
}

/** Text as it is shown: white space collapsed, invisible characters gone, lines where the page breaks them. */
function tidyLine(text: string): string {
  return text
    .replace(/[\u00ad\u200b\u2060\ufeff]/g, '')
    .replace(/[^\S\u2028]+/g, ' ')
    .replace(/ *\u2028[ \u2028]*/g, '\n')
    .replace(/\[\d{1,3}\](?!\()/g, '')
    .trim();
}
