import { readdir, readFile } from 'node:fs/promises';
import { basename, dirname, join, posix } from 'node:path';
import { escapeHtml } from '../reading/shell.ts';

/** A page of `docs`, as `/help` shows it. */
export interface HelpPage {
  /** Below `/help`: `model` for `model.md`, `surfaces` for `surfaces/README.md`, empty for the index. */
  name: string;
  title: string;
  html: string;
  sections: readonly HelpSection[];
}

interface HelpSection {
  id: string;
  level: number;
  heading: string;
  /** Without marks, for search. */
  text: string;
}

const HEADING = /<h([1-6])>([\s\S]*?)<\/h\1>/g;

/** Reads all pages, in the order in which the index links to them. */
export async function readManual(directory: string): Promise<Map<string, HelpPage>> {
  const files = (await readdir(directory, { recursive: true })).filter((file) => file.endsWith('.md')).sort();
  const { marked } = await import('marked');
  const known = new Map(files.map((file) => [posixPath(file), nameOf(posixPath(file))]));
  const pages: HelpPage[] = [];
  // One after the other: between two pages the service does its work.
  for (const file of files) {
    const text = await readFile(join(directory, file), 'utf8');
    pages.push(toPage(posixPath(file), marked.parse(text, { async: false }), known));
  }
  const index = pages.find(({ name }) => name === '')?.html ?? '';
  const place = ({ name }: HelpPage) => {
    const at = index.indexOf(`href="/help/${name}"`);
    return name === '' ? -1 : at === -1 ? index.length : at;
  };
  const ordered = pages.toSorted((one, other) => place(one) - place(other));
  return new Map(ordered.map((page) => [page.name, page]));
}

function posixPath(file: string): string {
  return file.replaceAll('\\', '/');
}

function nameOf(file: string): string {
  return file.replace(/(^|\/)README\.md$/, '').replace(/\.md$/, '');
}

function toPage(file: string, source: string, known: ReadonlyMap<string, string>): HelpPage {
  const linked = source
    .replace(/<a href="([^"]*)">([\s\S]*?)<\/a>/g, (_, target: string, words: string) => {
      const address = addressOf(target, file, known);
      return address === undefined ? words : `<a href="${address}">${words}</a>`;
    })
    .replace(/(src|srcset)="(?!https?:)([^"]+)"/g, (_, attribute: string, target: string) => {
      const path = posix.join(posix.dirname(file), target);
      return `${attribute}="/help/images/${basename(path)}"`;
    })
    .replace(/<pre>([\s\S]*?)<\/pre>/g, '<div class="pre"><pre tabindex="0">$1</pre></div>');
  const sections: HelpSection[] = [];
  const used = new Map<string, number>();
  const html = linked.replace(HEADING, (_, level: string, words: string) => {
    const heading = plainText(words);
    const id = uniqueId(heading, used);
    sections.push({ id, level: Number(level), heading, text: '' });
    return `<h${level} id="${escapeHtml(id)}">${words}</h${level}>`;
  });
  const texts = html.split(/<h[1-6] id="[^"]*">[\s\S]*?<\/h[1-6]>/).slice(1);
  const name = known.get(file) ?? file;
  return {
    name,
    title: sections[0]?.heading ?? basename(dirname(file)),
    html,
    sections: sections.map((section, at) => ({ ...section, text: plainText(texts[at] ?? '') })),
  };
}

/** Where a link leads here: another page, an anchor, or an address outside; sources of the repository are not served. */
function addressOf(target: string, file: string, known: ReadonlyMap<string, string>): string | undefined {
  if (/^(https?:|mailto:|#)/.test(target)) return target;
  const [path = '', anchor] = target.split('#');
  const resolved = posix.join(posix.dirname(file), path);
  const suffix = anchor === undefined ? '' : `#${anchor}`;
  if (resolved === '../README.md') return '/help';
  if (/^images\/[\w.-]+$/.test(resolved)) return `/help/${resolved}`;
  const name = known.get(resolved) ?? known.get(posix.join(resolved, 'README.md'));
  if (name === undefined) return undefined;
  return `${name === '' ? '/help' : `/help/${name}`}${suffix}`;
}

/** As code hosts make them, so that links with anchors work there and here. */
function uniqueId(heading: string, used: Map<string, number>): string {
  const base = heading
    .toLowerCase()
    .replace(/[^\p{L}\p{N}\s_-]/gu, '')
    .trim()
    .replace(/\s/g, '-');
  const count = used.get(base) ?? 0;
  used.set(base, count + 1);
  return count === 0 ? base : `${base}-${count}`;
}

const DECODED: Record<string, string> = { amp: '&', lt: '<', gt: '>', quot: '"', '#39': "'" };

function plainText(html: string): string {
  return html
    .replace(/<[^>]+>/g, ' ')
    .replace(/&(amp|lt|gt|quot|#39);/g, (_, name: string) => DECODED[name] ?? '')
    .replace(/\s+/g, ' ')
    .trim();
}

export interface Hit {
  page: HelpPage;
  section: HelpSection;
  score: number;
}

const MAX_HITS = 40;

/** Sections that have every word, headings before text, the best first. */
export function searchManual(pages: Iterable<HelpPage>, query: string): Hit[] {
  const words = searchTerms(query);
  if (words.length === 0) return [];
  const hits: Hit[] = [];
  for (const page of pages)
    for (const section of page.sections) {
      const heading = `${section.heading} ${page.title}`.toLowerCase();
      const text = section.text.toLowerCase();
      const scores = words.map((word) => scoreOf(word, heading, text));
      if (scores.every((score) => score > 0))
        hits.push({ page, section, score: scores.reduce((sum, score) => sum + score, 0) });
    }
  return hits.sort((one, other) => other.score - one.score).slice(0, MAX_HITS);
}

function searchTerms(query: string): string[] {
  return query.toLowerCase().split(/\s+/).filter(Boolean).slice(0, 10);
}

function scoreOf(word: string, heading: string, text: string): number {
  const inHeading = heading.includes(word) ? 10 : 0;
  const inText = Math.min(text.split(word).length - 1, 5);
  return inHeading + inText;
}

/** The text around the first word that was found, as HTML with the words marked. */
export function snippetOf({ section }: Hit, query: string): string {
  const words = searchTerms(query);
  const lower = section.text.toLowerCase();
  const first = Math.min(...words.map((word) => lower.indexOf(word)).filter((at) => at >= 0), lower.length);
  const from = first === lower.length ? 0 : Math.max(0, first - 80);
  const cut = section.text.slice(from, from + 240);
  const pattern = new RegExp(
    words.map((word) => word.replace(/[\\^$.*+?()[\]{}|]/g, '\\$&')).join('|'),
    'gi',
  );
  let html = from > 0 ? '… ' : '';
  let last = 0;
  for (const match of cut.matchAll(pattern)) {
    html += `${escapeHtml(cut.slice(last, match.index))}<mark>${escapeHtml(match[0])}</mark>`;
    last = match.index + match[0].length;
  }
  return html + escapeHtml(cut.slice(last));
}
