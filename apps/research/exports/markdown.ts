import type { Claim } from '../api-types.ts';
import { changeText, judgeText, rewriteMarks } from '../citations/marks.ts';
import type { Bundle } from './bundle.ts';

/** A stretch of text in one style; a link to `#claim-n` is a citation. */
export type Inline =
  | { type: 'text'; text: string }
  | { type: 'code'; text: string }
  | { type: 'strong'; children: Inline[] }
  | { type: 'emphasis'; children: Inline[] }
  | { type: 'link'; href: string; text: string };

/** How the cells of a column are set. */
type Align = 'left' | 'center' | 'right';

export type Block =
  | { type: 'heading'; level: number; children: Inline[] }
  | { type: 'paragraph'; children: Inline[] }
  | { type: 'quote'; children: Inline[] }
  | { type: 'list'; ordered: boolean; items: Inline[][] }
  | { type: 'table'; aligns: Align[]; header: Inline[][]; rows: Inline[][][] }
  | { type: 'code'; text: string };

/** Takes the Markdown of a report apart: what reports are made of, and nothing more. */
export function parseMarkdown(markdown: string): Block[] {
  const blocks: Block[] = [];
  let code: string[] | undefined;
  let open: Block | undefined;
  const lines = markdown.split('\n');
  for (let at = 0; at < lines.length; at += 1) {
    const line = lines[at] ?? '';
    const table = code === undefined ? tableAt(lines, at) : undefined;
    if (table !== undefined) {
      blocks.push(table);
      open = undefined;
      at += table.rows.length + 1;
    } else if (/^\s*(?:```|~~~)/.test(line)) {
      if (code === undefined) code = [];
      else {
        blocks.push({ type: 'code', text: code.join('\n') });
        code = undefined;
      }
      open = undefined;
    } else if (code !== undefined) code.push(line);
    else open = takeLine(line, open, blocks);
  }
  if (code !== undefined) blocks.push({ type: 'code', text: code.join('\n') });
  return blocks;
}

const RULE = /^\s*\|?\s*:?-+:?\s*(?:\|\s*:?-+:?\s*)*\|?\s*$/;

/** The table whose header is this line: the line below it is a rule of as many columns. Short rows are filled up. */
function tableAt(lines: readonly string[], at: number): Extract<Block, { type: 'table' }> | undefined {
  const [head = '', rule = ''] = lines.slice(at, at + 2);
  if (!head.includes('|') || !RULE.test(rule)) return undefined;
  const header = cellsOf(head);
  const aligns = cellsOf(rule).map(alignOf);
  if (header.length !== aligns.length) return undefined;
  const below = lines.slice(at + 2);
  const end = below.findIndex((line) => !line.includes('|'));
  const rows = below.slice(0, end === -1 ? undefined : end).map((line) => {
    const cells = cellsOf(line);
    return header.map((_, column) => parseInline(cells[column] ?? ''));
  });
  return { type: 'table', aligns, header: header.map(parseInline), rows };
}

function cellsOf(line: string): string[] {
  const inner = line
    .trim()
    .replace(/^\|/, '')
    .replace(/(?<!\\)\|$/, '');
  return inner.split(/(?<!\\)\|/).map((cell) => cell.trim());
}

function alignOf(rule: string): Align {
  if (!rule.endsWith(':')) return 'left';
  return rule.startsWith(':') ? 'center' : 'right';
}

/** Puts the line into the block that is open, or into a new one; gives the block that is open then. */
function takeLine(line: string, open: Block | undefined, blocks: Block[]): Block | undefined {
  const text = line.trim();
  if (text === '') return undefined;
  const block = blockOf(text);
  if (block.type === 'list' && open?.type === 'list' && open.ordered === block.ordered) {
    open.items.push(...block.items);
    return open;
  }
  if ((open?.type === 'paragraph' || open?.type === 'quote') && block.type === open.type) {
    open.children.push({ type: 'text', text: ' ' }, ...block.children);
    return open;
  }
  blocks.push(block);
  return block.type === 'heading' ? undefined : block;
}

function blockOf(text: string): Block {
  const [, marks, heading = ''] = /^(#{1,6})\s+(.*)$/.exec(text) ?? [];
  if (marks !== undefined) return { type: 'heading', level: marks.length, children: parseInline(heading) };
  const [, item] = /^[-*•]\s+(.*)$/.exec(text) ?? [];
  if (item !== undefined) return { type: 'list', ordered: false, items: [parseInline(item)] };
  const [, numbered] = /^\d{1,3}[.)]\s+(.*)$/.exec(text) ?? [];
  if (numbered !== undefined) return { type: 'list', ordered: true, items: [parseInline(numbered)] };
  const [, quoted] = /^>\s?(.*)$/.exec(text) ?? [];
  return quoted === undefined
    ? { type: 'paragraph', children: parseInline(text) }
    : { type: 'quote', children: parseInline(quoted) };
}

const INLINE =
  /\*\*(?<strong>.+?)\*\*|`(?<code>[^`]+)`|\[(?<label>(?:\\.|[^[\]\\])+)\]\((?<href>(?:https?:\/\/|#)[^)\s]+)\)|(?<=^|[\s(])_(?<emphasis>[^_]+)_(?=$|[\s).,;:])|\*(?<starred>[^*\s][^*]*)\*|(?<bare>https?:\/\/[^\s<>"]*[^\s<>".,;:!?)\]])/g;

function parseInline(text: string): Inline[] {
  const parts: Inline[] = [];
  let end = 0;
  for (const match of text.matchAll(INLINE)) {
    if (match.index > end) parts.push(plain(text.slice(end, match.index)));
    parts.push(inlineOf(match.groups ?? {}));
    end = match.index + match[0].length;
  }
  if (end < text.length) parts.push(plain(text.slice(end)));
  return parts;
}

function inlineOf(groups: Record<string, string | undefined>): Inline {
  const { strong, code, label, href, emphasis, starred, bare = '' } = groups;
  if (strong !== undefined) return { type: 'strong', children: parseInline(strong) };
  if (code !== undefined) return { type: 'code', text: code };
  if (label !== undefined && href !== undefined) return { type: 'link', href, text: withoutEscapes(label) };
  const slanted = emphasis ?? starred;
  if (slanted !== undefined) return { type: 'emphasis', children: parseInline(slanted) };
  return { type: 'link', href: bare, text: bare };
}

function plain(text: string): Inline {
  return { type: 'text', text: withoutEscapes(text) };
}

function withoutEscapes(text: string): string {
  return text.replace(/\\([\\`*_{}[\]()#+\-.!>~|])/g, '$1');
}

/** The report taken apart, its citations as links to the claims. */
export function linkedReport({ report, claims }: Pick<Bundle, 'report' | 'claims'>): Block[] {
  const linked = rewriteMarks(report, claims, ({ text, claim }) =>
    claim === undefined ? text : `[\\${text.slice(0, -1)}\\]](${claimAnchor(claim)})`,
  );
  return parseMarkdown(linked);
}

export function claimAnchor(claim: number): string {
  return `#claim-${claim + 1}`;
}

/** Whether the sources bear the claim out, in words, who says so, and what became of it. */
export function verdictText(claim: Claim): string {
  const changed = changeText(claim);
  return `${verdictOf(claim)}${changed === '' ? '' : `; ${changed}`}`;
}

function verdictOf(claim: Claim): string {
  const { supported, number, reason } = claim;
  if (number === null)
    return `No source that was read bears this out${claim.change === undefined ? '' : `: ${reason}`}`;
  if (claim.judge === 'none') return `Source ${number} was not checked for this: ${reason}`;
  return supported
    ? `Source ${number} bears this out (${judgeText(claim)})`
    : `Source ${number} does not bear this out: ${reason} (${judgeText(claim)})`;
}
