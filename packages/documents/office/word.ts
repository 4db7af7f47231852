import type { Archive } from '../archive.ts';
import { descendants, type Element, parseTree, textContent } from '../html/tree.ts';
import { childrenOf } from './spreadsheet.ts';

/** Parts of a Word document whose text is shown in its body. */
const BODY = /^word\/(?:document\d*|footnotes|endnotes)\.xml$/;
const MARGINS = /^word\/(?:header|footer)\d*\.xml$/;
/** Charts and diagrams, whose labels the converter drops. */
const DRAWN = /^word\/(?:charts\/chart|diagrams\/data)\d*\.xml$/;
/** In half points: type of this size is not meant to be read. */
const TINY = 3;
const SPACE = 'xml:space';

/** A Word document as a reader of its pages sees it. */
export interface SeenWord {
  archive: Archive;
  /** Characters that no reader sees, which were dropped. */
  hidden: number;
  /** Headers and footers, a line each. */
  margins: string[];
  /** Nothing is hidden, and nothing drawn that may hold text. */
  isWhole: boolean;
}

/**
 * The archive with its hidden text taken out and its formulas put in as text, as the converter keeps the one and drops the
 * other, and what stands above and below its pages.
 */
export async function seenWord(archive: Archive): Promise<SeenWord> {
  const styles = archive.exists('word/styles.xml') ? await partOf(archive, 'word/styles.xml') : undefined;
  const look = new Look(styles);
  const parts = new Map<string, string>();
  const margins = new Set<string>();
  for (const name of archive.names()) {
    if (!BODY.test(name) && !MARGINS.test(name)) continue;
    const root = await partOf(archive, name);
    look.clean(root);
    if (BODY.test(name)) parts.set(name, markupOf(root));
    else
      for (const paragraph of childrenOf(root, 'w:p')) {
        const line = childrenOf(paragraph, 'w:t').map(textContent).join('').trim();
        if (line !== '') margins.add(line);
      }
  }
  // The converter reads these parts as text alone.
  const read: Archive['read'] = async (name, encoding) =>
    parts.get(name) ?? (await archive.read(name, encoding));
  const isWhole = look.hidden === 0 && !archive.names().some((name) => DRAWN.test(name));
  return { archive: { ...archive, read }, hidden: look.hidden, margins: [...margins], isWhole };
}

async function partOf(archive: Archive, name: string): Promise<Element> {
  return parseTree(String(await archive.read(name, 'utf-8')), { xml: true }).root;
}

/** Tells by its properties and styles whether a run of text is seen. */
class Look {
  hidden = 0;
  /** The names of styles that hide text, and of those that shade what stands behind it. */
  readonly #hiding: ReadonlySet<string>;
  readonly #shading: ReadonlySet<string>;

  constructor(styles: Element | undefined) {
    const all = childrenOf(styles, 'w:style');
    const byId = new Map(all.map((style) => [style.attribs['w:styleId'] ?? '', style]));
    const having = (has: (style: Element) => boolean) => {
      const found = (style: Element | undefined, left: number): boolean => {
        if (style === undefined || left === 0) return false;
        if (has(style)) return true;
        const [base] = childrenOf(style, 'w:basedOn');
        return found(byId.get(base?.attribs['w:val'] ?? ''), left - 1);
      };
      return new Set([...byId].filter(([, style]) => found(style, 10)).map(([id]) => id));
    };
    this.#hiding = having((style) => isOn(style, 'w:vanish'));
    this.#shading = having(isShading);
  }

  clean(root: Element): void {
    const isColoured = childrenOf(root, 'w:background').length > 0;
    this.#walk(root, isColoured, false);
  }

  /** `isShaded`: something else than white may stand behind the text. */
  #walk(node: Element, isShaded: boolean, isHiding: boolean): void {
    node.children = node.children.filter((child) => {
      if (typeof child === 'string') return true;
      if (child.name === 'm:oMath') {
        const text = childrenOf(child, 'm:t').map(textContent).join('');
        Object.assign(child, runOf(text));
        return true;
      }
      const own = propertiesOf(child);
      const shaded =
        isShaded ||
        child.name === 'w:tbl' ||
        child.name === 'w:txbxContent' ||
        own.some((each) => isShading(each) || stylesOf(each).some((style) => this.#shading.has(style)));
      const hiding = isHiding || own.some((each) => stylesOf(each).some((style) => this.#hiding.has(style)));
      if (child.name === 'w:r' && this.#isUnseen(own, shaded, hiding)) {
        this.hidden += childrenOf(child, 'w:t').reduce(
          (sum, text) => sum + textContent(text).trim().length,
          0,
        );
        return false;
      }
      this.#walk(child, shaded, hiding);
      return true;
    });
  }

  #isUnseen([properties]: readonly Element[], isShaded: boolean, isHiding: boolean): boolean {
    if (properties === undefined) return isHiding;
    const [vanish] = childrenOf(properties, 'w:vanish');
    if (vanish === undefined ? isHiding : isOn(properties, 'w:vanish')) return true;
    const valueIn = (name: string) => childrenOf(properties, name)[0]?.attribs['w:val'] ?? '';
    if (Number(valueIn('w:sz') || TINY) < TINY) return true;
    return !isShaded && valueIn('w:highlight') === '' && /^f[c-f]f[c-f]f[c-f]$/i.test(valueIn('w:color'));
  }
}

/** The properties of a run or a paragraph. */
function propertiesOf({ children }: Element): Element[] {
  return children.filter((child) => typeof child !== 'string').filter(({ name }) => /^w:[rp]Pr$/.test(name));
}

function stylesOf(properties: Element): string[] {
  return properties.children
    .filter((child) => typeof child !== 'string')
    .filter(({ name }) => name === 'w:rStyle' || name === 'w:pStyle')
    .map(({ attribs }) => attribs['w:val'] ?? '');
}

/** Whether what stands behind the text has another colour than white. */
function isShading(element: Element): boolean {
  return childrenOf(element, 'w:shd').some(
    ({ attribs }) =>
      !/^(?:auto|ffffff)?$/i.test(attribs['w:fill'] ?? '') || attribs['w:themeFill'] !== undefined,
  );
}

function isOn(element: Element, name: string): boolean {
  const found = descendants(element).find((each) => each.name === name);
  return found !== undefined && !/^(?:0|false|off)$/.test(found.attribs['w:val'] ?? '');
}

function runOf(text: string): Pick<Element, 'name' | 'attribs' | 'children'> {
  const inner: Element = {
    name: 'w:t',
    attribs: { [SPACE]: 'preserve' },
    parent: undefined,
    children: [text],
  };
  return { name: 'w:r', attribs: {}, children: [inner] };
}

function markupOf(node: Element | string): string {
  if (typeof node === 'string') return escapedMarkup(node);
  const inner = node.children.map(markupOf).join('');
  if (node.name === '') return inner;
  const attributes = Object.entries(node.attribs).map(
    ([name, value]) => ` ${name}="${escapedMarkup(value)}"`,
  );
  return `<${node.name}${attributes.join('')}>${inner}</${node.name}>`;
}

export function escapedMarkup(text: string): string {
  return text.replace(/&/g, '&amp;').replace(/</g, '&lt;').replace(/>/g, '&gt;').replace(/"/g, '&quot;');
}
