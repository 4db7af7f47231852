import { type Archive, openArchive } from '../archive.ts';
import { decode } from '../charset.ts';
import { assemble, type ExtractedDocument, ExtractionError, type Piece } from '../document.ts';
import { extractHtml } from '../html/html.ts';
import { descendants, type Element, parseTree, textContent } from '../html/tree.ts';
import { markdownTables } from '../table.ts';
import { dropUnseen } from './open-seen.ts';
import { childrenOf, openCells, openText, refuseEncrypted } from './spreadsheet.ts';
import { escapedMarkup, seenWord } from './word.ts';

/** A Word document with its tables and notes. */
export async function extractWord(bytes: Uint8Array, name: string): Promise<ExtractedDocument> {
  const { default: mammoth } = await import('mammoth');
  // Pictures are not read, and neither unpacked.
  const convertImage = mammoth.images.imgElement(() => Promise.resolve({ src: '' }));
  const { archive, hidden, margins, isWhole } = await seenWord(openArchive(bytes));
  const { value } = await mammoth.convertToHtml({ file: archive } as never, { convertImage });
  if (value.replace(/<[^>]*>/g, '').trim() === '') throw new ExtractionError('is a document without text');
  const rest = margins.map((line) => `<p>${escapedMarkup(line)}</p>`).join('');
  const document = extractHtml(`<main>${value}</main><footer>${rest}</footer>`, name);
  return { ...document, hidden, isWhole: isWhole && document.isWhole };
}

/** An OpenDocument text with its tables and notes. */
export async function odtPieces(bytes: Uint8Array): Promise<{ pieces: Piece[]; hidden: number }> {
  const archive = openArchive(bytes);
  await refuseEncrypted(archive);
  const root = await xmlOf(archive, 'content.xml');
  const styles = archive.exists('styles.xml') ? await xmlOf(archive, 'styles.xml') : undefined;
  const hidden = dropUnseen(root, styles);
  const [body] = childrenOf(root, 'office:text');
  const pieces: Piece[] = [];
  const write = (node: Element, isItem: boolean): void => {
    for (const child of node.children) {
      if (typeof child === 'string') continue;
      if (child.name === 'text:h') {
        const level = Math.min(6, Number(child.attribs['text:outline-level'] ?? 1));
        pieces.push({
          kind: 'heading',
          region: 'main',
          text: `${'#'.repeat(level)} ${lineOf(child)}`,
          level,
        });
      } else if (child.name === 'text:p') {
        const text = lineOf(child);
        if (text !== '')
          pieces.push({
            kind: isItem ? 'item' : 'paragraph',
            region: 'main',
            text: isItem ? `- ${text}` : text,
          });
      } else if (child.name === 'table:table') {
        const rows = childrenOf(child, 'table:table-row').map(openCells);
        for (const text of markdownTables(rows)) pieces.push({ kind: 'table', region: 'main', text });
      } else if (child.name !== 'text:tracked-changes')
        write(child, isItem || child.name === 'text:list-item');
      for (const note of childrenOf(child, 'text:note-body'))
        if (child.name === 'text:p' || child.name === 'text:h' || child.name === 'table:table')
          pieces.push({
            kind: 'note',
            region: 'note',
            text: `- ${childrenOf(note, 'text:p').map(lineOf).join(' ')}`,
          });
    }
  };
  if (body !== undefined) write(body, false);
  const margins = descendants(styles ?? root)
    .filter(({ name }) => /^style:(?:header|footer)(?:-left|-first)?$/.test(name))
    .flatMap((margin) => childrenOf(margin, 'text:p').map(lineOf));
  for (const text of new Set(margins))
    if (text !== '') pieces.push({ kind: 'paragraph', region: 'chrome', text });
  return { pieces, hidden };
}

function lineOf(node: Element): string {
  return openText(node)
    .replace(/[^\S\n]+/g, ' ')
    .trim();
}

/** A book: its chapters in the order of its spine. */
export async function extractEpub(bytes: Uint8Array, name: string): Promise<ExtractedDocument> {
  const archive = openArchive(bytes);
  const container = await xmlOf(archive, 'META-INF/container.xml');
  const [rootFile] = childrenOf(container, 'rootfile');
  const path = rootFile?.attribs['full-path'] ?? '';
  const content = await xmlOf(archive, path);
  const items = new Map(childrenOf(content, 'item').map(({ attribs }) => [attribs.id, attribs]));
  const locked = await lockedParts(archive);
  const pieces: Piece[] = [];
  let hidden = 0;
  for (const { attribs } of childrenOf(content, 'itemref')) {
    const item = items.get(attribs.idref);
    const chapter = item?.href === undefined ? '' : resolvePath(path, item.href);
    if (!archive.exists(chapter) || /(?:^|\s)nav(?:\s|$)/.test(item?.properties ?? '')) continue;
    if (locked.has(chapter))
      throw new ExtractionError(
        'is a book with copy protection (DRM), which only the programs of its seller can open',
      );
    const read = chapterOf(decode((await archive.read(chapter)) as Uint8Array), chapter);
    if (read === undefined) continue;
    hidden += read.hidden;
    for (const { kind, region, start, end } of read.blocks)
      pieces.push({ kind, region, text: read.text.slice(start, end) });
  }
  const assembled = assemble(pieces);
  if (assembled.text === '') throw new ExtractionError('is a book without text');
  const find = (tag: string) => descendants(content).find((each) => each.name === tag);
  const [title, language] = [find('dc:title'), find('dc:language')].map((each) =>
    each === undefined ? '' : textContent(each).trim(),
  );
  return { title: title || name, ...assembled, hidden, ...(language && { language }) };
}

/** Parts of a book that are encrypted; in many books the fonts are, and nothing else. */
async function lockedParts(archive: Archive): Promise<ReadonlySet<string>> {
  const name = 'META-INF/encryption.xml';
  if (!archive.exists(name)) return new Set();
  const root = await xmlOf(archive, name);
  const references = descendants(root).filter((each) => /(?:^|:)CipherReference$/i.test(each.name));
  return new Set(references.map(({ attribs }) => decodeURIComponent(attribs.URI ?? attribs.uri ?? '')));
}

/** A chapter; undefined where it is a picture alone. */
function chapterOf(html: string, name: string): ExtractedDocument | undefined {
  try {
    return extractHtml(html, name);
  } catch (error) {
    if (error instanceof ExtractionError) return undefined;
    throw error;
  }
}

async function xmlOf(archive: Archive, name: string): Promise<Element> {
  return parseTree(String(await archive.read(name, 'utf-8')), { xml: true }).root;
}

function resolvePath(base: string, href: string): string {
  const { pathname } = new URL(href, `http://book.invalid/${base}`);
  return decodeURIComponent(pathname.slice(1));
}
