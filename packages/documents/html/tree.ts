import { Parser } from 'htmlparser2';
import { ExtractionError } from '../document.ts';

export interface Element {
  name: string;
  attribs: Record<string, string>;
  parent: Element | undefined;
  children: (Element | string)[];
}

export interface Page {
  root: Element;
  /** The contents of style elements. */
  styles: string[];
  /** The contents of JSON-LD scripts. */
  data: string[];
  /** A frame shows text that stands in its own attribute, which is not read. */
  hasFrame: boolean;
}

/** Elements below this depth are not built; their text belongs to the element at that depth. */
const DEEPEST = 200;
/** Beyond this the parser's time grows with the square of the page, and no page for people is nested so deep. */
const TOO_DEEP = 10_000;
/** Their contents are no text of the page. */
const UNREAD = new Set(
  'script style noscript noframes noembed template iframe object embed canvas audio video datalist annotation rp'.split(
    ' ',
  ),
);
/** Of a drawing only the labels are text: they are built, and what leads to them. */
const DRAWN = new Set('svg g a switch text tspan textpath foreignobject'.split(' '));
const UNDRAWN = new Set('defs symbol metadata title desc mask pattern marker clippath'.split(' '));
const LABEL = /^(?:text|tspan|textpath|a)$/;
const VOID = new Set('area base br col embed hr img input link meta source track wbr'.split(' '));

/** Parses HTML or XML in one pass. What is no text is not built, but for the elements of the head. */
export function parseTree(markup: string, { xml = false } = {}): Page {
  const root: Element = { name: '', attribs: {}, parent: undefined, children: [] };
  const page: Page = { root, styles: [], data: [], hasFrame: false };
  let open = root;
  let depth = 0;
  /** The unread element that is open, and the text of it. */
  let unread: { name: string; level: number; text: string; attribs: Record<string, string> } | undefined;
  let isDrawing = false;
  const parser = new Parser(
    {
      onopentag(name, attribs) {
        depth += 1;
        if (!xml && depth > TOO_DEEP) throw new ExtractionError('is nested too deep to be read');
        if (unread !== undefined) return;
        const isVoid = !xml && VOID.has(name);
        if (!xml && isUnread(name, attribs, isDrawing) && !isVoid) {
          unread = { name, level: depth, text: '', attribs };
          page.hasFrame ||= (attribs.srcdoc ?? '').trim() !== '';
          return;
        }
        if ((depth > DEEPEST && !isVoid) || (isDrawing && !DRAWN.has(name))) return;
        const element: Element = { name, attribs, parent: open, children: [] };
        open.children.push(element);
        if (isVoid) return;
        open = element;
        isDrawing = !xml && isInDrawing(open);
      },
      ontext(text) {
        if (unread !== undefined) unread.text += text;
        else if (!isDrawing || LABEL.test(open.name)) open.children.push(text);
      },
      onclosetag(name) {
        if (unread !== undefined && unread.level === depth) {
          if (unread.name === 'style') page.styles.push(unread.text);
          if (unread.name === 'script' && /ld\+json/i.test(unread.attribs.type ?? ''))
            page.data.push(unread.text);
          unread = undefined;
        } else if (
          unread === undefined &&
          depth <= DEEPEST &&
          open.name === name &&
          open.parent !== undefined
        ) {
          open = open.parent;
          isDrawing = !xml && isInDrawing(open);
        }
        depth -= 1;
      },
    },
    { xmlMode: xml, decodeEntities: true, lowerCaseTags: !xml, recognizeSelfClosing: xml },
  );
  parser.write(markup);
  parser.end();
  return page;
}

/** A template that is the shadow root of its element is shown in its place. */
function isUnread(name: string, attribs: Record<string, string>, isDrawing: boolean): boolean {
  return (UNREAD.has(name) && attribs.shadowrootmode === undefined) || (isDrawing && UNDRAWN.has(name));
}

/** Whether the element stands in a drawing, but not in text of the page that stands in it. */
function isInDrawing(element: Element): boolean {
  for (let up: Element | undefined = element; up !== undefined; up = up.parent)
    if (up.name === 'svg' || up.name === 'foreignobject') return up.name === 'svg';
  return false;
}

/** All elements below, in the order of the page. */
export function descendants(root: Element, found: Element[] = []): Element[] {
  for (const child of root.children) {
    if (typeof child === 'string') continue;
    found.push(child);
    descendants(child, found);
  }
  return found;
}

export function textContent(node: Element | string): string {
  return typeof node === 'string' ? node : node.children.map(textContent).join('');
}
