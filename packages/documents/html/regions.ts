import type { Region } from '../document.ts';
import { type Shown, Visibilities } from './hidden.ts';
import { descendants, type Element, type Page } from './tree.ts';

/** What is known of an element before its text is written. */
export interface Facts {
  /** Characters of text, of which so many inside links. */
  length: number;
  linked: number;
  links: number;
  shown: Shown;
  region: Region;
}

export interface MappedPage {
  facts: Map<Element, Facts>;
  /** Characters that no reader sees. */
  hidden: number;
  /** Whether the page marks its main part. */
  isMarked: boolean;
}

/** Fewer characters than this are no article. */
const LEAST = 80;

/** Finds what a reader sees of a page, and which of it is its main part. Hidden elements have no facts. */
export function mapPage(page: Page): MappedPage {
  const body = bodyOf(page.root);
  const elements = descendants(page.root);
  const hasOther = elements.some(
    ({ name, attribs }) => name === 'link' && /stylesheet/i.test(attribs.rel ?? ''),
  );
  const visibilities = new Visibilities(page.styles, hasOther);
  const measure = new Measure(visibilities, controlledIds(elements, visibilities));
  const total = measure.add(body, measure.visibilities.root(), false).length;
  const { facts, hidden } = measure;
  const marked = markedParts(body, facts, total);
  const place = (element: Element, inherited: Region, isInside: boolean): void => {
    const own = facts.get(element);
    if (own === undefined) return;
    const isMarked = marked.has(element);
    const inside = isInside || isMarked;
    own.region = inherited === 'main' && !isMarked ? regionOf(element, own, inside, total) : inherited;
    for (const child of element.children)
      if (typeof child !== 'string') place(child, isMarked ? 'main' : own.region, inside);
  };
  place(body, 'main', false);
  if (marked.size > 0) demoteOutside(body, facts, marked, elements);
  return { facts, hidden, isMarked: marked.size > 0 };
}

const CONTROLS = /^(?:button|a|summary|input|label|select)$/;
const CONTROL_ROLES = /^(?:button|tab|link|menuitem|switch|combobox|option|radio|treeitem)$/;

/** The ids of panels that a button, tab or link on the page opens, which a reader sees or finds in such a panel. */
function controlledIds(elements: readonly Element[], visibilities: Visibilities): Set<string> {
  const idsOf = ({ attribs }: Element) =>
    `${attribs['aria-controls'] ?? ''} ${attribs.popovertarget ?? ''}`.split(/\s+/).filter(Boolean);
  const controls = elements.filter(
    (element) =>
      idsOf(element).length > 0 &&
      (CONTROLS.test(element.name) || CONTROL_ROLES.test(element.attribs.role ?? '')),
  );
  const panels = new Set(controls.flatMap(idsOf));
  const root = visibilities.root();
  const isReached = (element: Element): boolean => {
    for (let up: Element | undefined = element; up !== undefined; up = up.parent)
      if (visibilities.of(up, root) === undefined && !panels.has(up.attribs.id ?? '')) return false;
    return true;
  };
  return new Set(controls.filter(isReached).flatMap(idsOf));
}

export function bodyOf(root: Element): Element {
  for (const element of descendants(root)) if (element.name === 'body') return element;
  return root;
}

class Measure {
  readonly facts = new Map<Element, Facts>();
  readonly visibilities: Visibilities;
  readonly #controlled: ReadonlySet<string>;
  hidden = 0;

  constructor(visibilities: Visibilities, controlled: ReadonlySet<string>) {
    this.visibilities = visibilities;
    this.#controlled = controlled;
  }

  add(element: Element, inherited: Shown, isLink: boolean): Facts {
    const shown = this.visibilities.of(element, inherited) ?? this.#opened(element, inherited);
    const facts: Facts = { length: 0, linked: 0, links: 0, shown: shown ?? inherited, region: 'main' };
    if (shown === undefined) {
      this.hidden += visibleLength(element);
      return facts;
    }
    if (element.name === 'head' || element.name === 'title') return facts;
    this.facts.set(element, facts);
    const inLink = isLink || (element.name === 'a' && element.attribs.href !== undefined);
    if (inLink && !isLink) facts.links = 1;
    for (const child of element.children) {
      if (typeof child === 'string') {
        const length = lengthOf(child);
        if (shown.text === 'unseen') this.hidden += length;
        else {
          facts.length += length;
          if (inLink) facts.linked += length;
        }
        continue;
      }
      const inner = this.add(child, shown, inLink);
      facts.length += inner.length;
      facts.linked += inner.linked;
      facts.links += inner.links;
    }
    return facts;
  }

  /** A panel that a tab or button on the page opens is there for the reader, though closed at first. */
  #opened(element: Element, inherited: Shown): Shown | undefined {
    const { attribs } = element;
    const isPanel = attribs.id !== undefined && this.#controlled.has(attribs.id);
    return isPanel && attribs['aria-hidden'] !== 'true' && this.visibilities.isClosed(element)
      ? inherited
      : undefined;
  }
}

/** Characters without white space at the ends and in runs. A Chinese or Japanese one says as much as two others. */
function lengthOf(text: string): number {
  const plain = text.replace(/\s+/g, ' ');
  return plain === ' '
    ? 0
    : plain.length + (plain.match(/[\u3040-\u30ff\u4e00-\u9fff\uac00-\ud7af]/g)?.length ?? 0);
}

function visibleLength(node: Element | string): number {
  return typeof node === 'string'
    ? node.replace(/\s+/g, ' ').trim().length
    : node.children.reduce((sum, child) => sum + visibleLength(child), 0);
}

const MAIN_IDS =
  /^(?:content|main|main-?content|mw-content-text|body-?content|article|page-?content|primary)$/i;

/** The elements that a page marks as its main part: `main`, else its articles, else by an id that says so. */
function markedParts(body: Element, facts: ReadonlyMap<Element, Facts>, total: number): Set<Element> {
  const isEnough = (element: Element, share: number) => {
    const length = proseLength(element, facts, total);
    return length >= LEAST && length >= share * total;
  };
  const outermost = (isKind: (element: Element) => boolean): Element[] => {
    const found: Element[] = [];
    const look = (element: Element): void => {
      const own = facts.get(element);
      if (own === undefined) return;
      if (isKind(element)) found.push(element);
      else if (element === body || regionOf(element, own, false, total) === 'main')
        for (const child of element.children) if (typeof child !== 'string') look(child);
    };
    look(body);
    return found;
  };
  const mains = outermost(({ name, attribs }) => name === 'main' || attribs.role === 'main');
  if (mains.some((main) => isEnough(main, 0.2))) return new Set(mains.filter((main) => isEnough(main, 0)));
  const articles = outermost(
    ({ name, attribs }) =>
      name === 'article' || attribs.itemprop === 'articleBody' || attribs.role === 'article',
  );
  const longest = articles.reduce((most, article) => Math.max(most, facts.get(article)?.length ?? 0), 0);
  const chosen = articles.filter((article) => (facts.get(article)?.length ?? 0) >= longest / 5);
  const held = chosen.reduce((sum, article) => sum + (facts.get(article)?.length ?? 0), 0);
  if (held >= LEAST && held >= total * 0.4) return new Set(chosen);
  return new Set(
    outermost(({ attribs }) => MAIN_IDS.test(attribs.id ?? '')).filter((each) => isEnough(each, 0.4)),
  );
}

/** Characters outside links. */
function proseLength(element: Element, facts: ReadonlyMap<Element, Facts>, total: number): number {
  const own = facts.get(element);
  if (own === undefined) return 0;
  return total === own.length ? own.length : own.length - own.linked / 2;
}

/** What stands outside the marked parts is the rest, but for a heading above them. */
function demoteOutside(
  body: Element,
  facts: Map<Element, Facts>,
  marked: ReadonlySet<Element>,
  elements: readonly Element[],
): void {
  const holds = new Set<Element>();
  const titles = elements.filter(({ name }) => name === 'h1');
  for (const part of [...marked, ...titles.filter((title) => facts.get(title)?.region === 'main')])
    for (let up: Element | undefined = part; up !== undefined && !holds.has(up); up = up.parent)
      holds.add(up);
  const demote = (element: Element): void => {
    const own = facts.get(element);
    if (own === undefined || marked.has(element) || element.name === 'h1') return;
    if (holds.has(element)) {
      for (const child of element.children) if (typeof child !== 'string') demote(child);
      return;
    }
    if (own.region === 'main') own.region = 'side';
    for (const child of descendants(element)) {
      const inner = facts.get(child);
      if (inner?.region === 'main') inner.region = 'side';
    }
  };
  demote(body);
}

const CHROME_ROLES = new Set(
  'navigation menu menubar toolbar search banner contentinfo dialog alertdialog tablist menuitem tooltip'.split(
    ' ',
  ),
);
const CHROME =
  /(?:^|[\s_-])(?:cookies?|consent|gdpr|ccpa|nav[a-z]*|[a-z]*nav|menu|[a-z]+menu|menus|dropdown|bread-?crumbs?|crumbs?|pagination|pager|paging|toolbar|share|sharing|share-?bar|sharedaddy|social|socials|skip|skip-?link|masthead|topbar|login|log-in|signin|sign-?up|register|newsletter|subscribe|subscription|search|search-?box|advert[a-z]*|ads?|adsense|ad-?slot|sponsor(?:ed)?|promo[a-z]*|modal|popup|overlay|toast|editsection|mw-editsection|mw-jump-link|jump-?link|paywall|site-?header|page-?header|top-?bar|[a-z]*footer|footer[a-z]*|copyright|headerlink|hash-link|btn|button|buttons|cta|donate|donation|announcement|printonly|noprint|cat-?links|site-?notice)(?:$|[\s_-])/i;
const SIDE =
  /(?:^|[\s_-])(?:[a-z]*sidebar|aside|infobox|side-?box|factbox|fact-?box|related[a-z]*|recommend[a-z]*|more-?stories|read-?more|also-?read|trending|popular|most-?read|teasers?|widgets?|toc|table-?of-?contents|on-this-page|navbox|taglist|tags|tag-?cloud|author-?box|author-?bio|about-?author|bio|comments?|comment-?list|respond|disqus|see-?also|upsell|cross-?sell|carousel|outbrain|taboola|reviews?|pull-?quote|metabox|sister-?sites?|right-?rail|rail)(?:$|[\s_-])/i;
const NOTES =
  /(?:^|[\s_-])(?:footnotes?|foot-?notes?|endnotes?|references|reflist|refs|bibliography|citations)(?:$|[\s_-])/i;
/** An element with a larger share of the page's text than this is no side matter, whatever its name says. */
const LARGE = 0.5;
const LISTS = new Set(['ul', 'ol', 'dl', 'table', 'div', 'section', 'p', 'center', 'td', 'span', 'menu']);
const INLINE = new Set(
  'a abbr b bdi bdo cite code data del dfn em font i ins kbd mark q s samp small span strong sub sup time u var label'.split(
    ' ',
  ),
);
/** What stands in headings and is none of their words. */
const EDIT_LINK = /editsection|headerlink|hash-link/;
const HEADINGS = /^(?:h[1-6]|summary|dt|legend|th|caption|figcaption)$/;

function regionOf(element: Element, own: Facts, isInside: boolean, total: number): Region {
  const { name, attribs, parent } = element;
  if (name === 'body' || name === 'html' || name === 'main' || HEADINGS.test(name)) return 'main';
  const isLarge = own.length > total * LARGE;
  if (!isLarge || !isInside) {
    const byName = semanticRegion(element, own, isInside, isLarge);
    if (byName !== undefined) return byName;
  }
  if (isLarge) return 'main';
  const label = `${attribs.class ?? ''} ${idLabel(attribs.id, name)}`;
  const isInline =
    INLINE.has(name) &&
    parent !== undefined &&
    !LISTS.has(parent.name) &&
    !EDIT_LINK.test(attribs.class ?? '');
  if (label !== ' ' && !isInline && name !== 'article') {
    const named = namedRegion(label);
    if (named === 'note' ? name !== 'sup' && name !== 'a' : named === 'side') return named;
    if (named === 'chrome' && !holdsProse(own, isInside)) return 'chrome';
  }
  if (isLinkList(element, own)) return 'chrome';
  return isCardList(element) ? 'side' : 'main';
}

/** An id of several words is mostly made from a heading, and says what a section is about. */
function idLabel(id: string | undefined, name: string): string {
  return id === undefined || name === 'section' || id.split(/[\s_.-]+/).length > 2 ? '' : id;
}

const namedRegions = new Map<string, Region>();
const MOST_LABELS = 5000;
const LONGEST_LABEL = 200;

/** The region that class names and an id tell; pages repeat the same ones over and over. */
function namedRegion(label: string): Region {
  const known = namedRegions.get(label);
  if (known !== undefined) return known;
  const region = NOTES.test(label)
    ? 'note'
    : CHROME.test(label)
      ? 'chrome'
      : SIDE.test(label)
        ? 'side'
        : 'main';
  if (namedRegions.size >= MOST_LABELS) namedRegions.clear();
  if (label.length <= LONGEST_LABEL) namedRegions.set(label, region);
  return region;
}

function semanticRegion(
  element: Element,
  own: Facts,
  isInside: boolean,
  isLarge: boolean,
): Region | undefined {
  const { name, attribs, parent } = element;
  const { role = '' } = attribs;
  if (name === 'nav' || (CHROME_ROLES.has(role) && !isLarge)) return 'chrome';
  if (name === 'aside' || role === 'complementary') return isLarge ? undefined : 'side';
  if (role === 'doc-endnotes' || role === 'doc-footnote' || role === 'doc-bibliography') return 'note';
  if (name === 'footer')
    return parent?.name === 'blockquote' || parent?.name === 'figure'
      ? undefined
      : isInside
        ? 'side'
        : isLarge
          ? undefined
          : 'chrome';
  if (name === 'header' && !isInside) {
    const hasTitle = descendants(element).some((each) => each.name === 'h1');
    return hasTitle && own.linked < own.length * 0.4 ? undefined : 'chrome';
  }
  if ((name === 'form' || name === 'fieldset' || name === 'dialog') && !isLarge) return 'chrome';
  if (/^(?:button|select|textarea|input|label|output|progress|meter)$/.test(name))
    return isInHeading(element) ? undefined : 'chrome';
  return undefined;
}

function isInHeading({ parent }: Element): boolean {
  for (let up = parent; up !== undefined; up = up.parent) if (HEADINGS.test(up.name)) return true;
  return false;
}

/** Long text with few links inside the main part is content, whatever a class name like `cta-section` says. */
function holdsProse({ length, linked }: Facts, isInside: boolean): boolean {
  return isInside && length > 1500 && linked < length * 0.1;
}

function isLinkList({ name }: Element, { length, linked, links }: Facts): boolean {
  if (!LISTS.has(name) || length === 0) return false;
  if (links >= 3 && linked >= length * 0.7) return true;
  return (name === 'p' || name === 'div') && links >= 1 && length < 200 && linked >= length * 0.9;
}

/** At least three neighbours of one kind that are a linked title with a few words each, as teasers of other pages are. */
function isCardList({ name, children }: Element): boolean {
  if (name !== 'ul' && name !== 'div' && name !== 'section' && name !== 'ol') return false;
  const elements = children
    .filter((child) => typeof child !== 'string')
    .filter(({ name: each }) => !/^(?:h[1-6]|hr|br)$/.test(each));
  if (elements.length < 3) return false;
  const kind = elements[0]?.name;
  return elements.every((child) => child.name === kind && isCard(child));
}

function isCard(element: Element): boolean {
  let [linked, length] = [0, 0];
  let headed = false;
  const look = (node: Element | string, inLink: boolean, inHeading: boolean): void => {
    if (typeof node === 'string') {
      const own = node.trim().length;
      length += own;
      if (inLink) linked += own;
      if (inLink && inHeading && own > 0) headed = true;
      return;
    }
    const isLink = inLink || (node.name === 'a' && node.attribs.href !== undefined);
    for (const child of node.children) look(child, isLink, inHeading || /^h[1-6]$/.test(node.name));
  };
  look(element, false, false);
  return length > 0 && length < 260 && (headed || linked >= length * 0.6);
}
