import { descendants, type Element, textContent } from '../html/tree.ts';

/** Takes what no reader sees out of an OpenDocument; gives the characters of it. `styles` are those of its other part. */
export function dropUnseen(root: Element, styles?: Element): number {
  const named = [root, ...(styles === undefined ? [] : [styles])].flatMap((part) =>
    descendants(part).filter(({ name }) => name === 'style:style'),
  );
  const having = (has: (properties: Element['attribs']) => boolean) =>
    new Set(
      named
        .filter((style) => descendants(style).some(({ attribs }) => has(attribs)))
        .map(({ attribs }) => attribs['style:name']),
    );
  const hiding = having(
    (properties) => properties['text:display'] === 'none' || properties['table:display'] === 'false',
  );
  const white = having((properties) => /^#f[c-f]f[c-f]f[c-f]$/i.test(properties['fo:color'] ?? ''));
  for (const shaded of having((properties) => /^#/.test(properties['fo:background-color'] ?? '')))
    white.delete(shaded);
  let hidden = 0;
  const clean = (node: Element, isInTable: boolean): void => {
    const columns = node.name === 'table:table' ? hiddenColumns(node) : undefined;
    node.children = node.children.filter((child) => {
      if (typeof child === 'string') return true;
      const style = styleOf(child);
      const isUnseen = hiding.has(style) || (!isInTable && white.has(style)) || isOff(child);
      if (isUnseen) {
        hidden += lengthOf(child);
        return false;
      }
      clean(child, isInTable || child.name === 'table:table');
      return true;
    });
    if (columns?.includes(true)) hidden += emptyColumns(node, columns);
  };
  clean(root, false);
  return hidden;
}

function styleOf({ attribs }: Element): string | undefined {
  return attribs['text:style-name'] ?? attribs['table:style-name'];
}

/** By its own attributes; rows that a filter leaves out are kept, as its button shows them. */
function isOff(element: Element): boolean {
  const { name, attribs } = element;
  if (attribs['table:visibility'] === 'collapse') return name === 'table:table-row';
  if (name === 'text:section') return attribs['text:display'] === 'none';
  if (name === 'text:hidden-text') return attribs['text:is-hidden'] !== 'false';
  return (
    name === 'text:p' &&
    descendants(element).some(
      (each) => each.name === 'text:hidden-paragraph' && each.attribs['text:is-hidden'] !== 'false',
    )
  );
}

function lengthOf(element: Element): number {
  return textContent(element).replace(/\s+/g, ' ').trim().length;
}

const MOST_COLUMNS = 1000;

/** Whether each column of a table is hidden. */
function hiddenColumns(table: Element): boolean[] {
  return descendants(table)
    .filter(({ name }) => name === 'table:table-column')
    .flatMap(({ attribs }) =>
      Array.from(
        { length: Math.min(MOST_COLUMNS, Number(attribs['table:number-columns-repeated'] ?? 1)) },
        () => attribs['table:visibility'] === 'collapse',
      ),
    );
}

/** Empties the cells of these columns, which keep their places; gives the characters that they had. */
function emptyColumns(table: Element, columns: readonly boolean[]): number {
  let hidden = 0;
  for (const row of descendants(table).filter(({ name }) => name === 'table:table-row')) {
    let column = 0;
    for (const cell of row.children) {
      if (typeof cell === 'string' || !/^table:(?:covered-)?table-cell$/.test(cell.name)) continue;
      if (columns[column] === true) {
        hidden += lengthOf(cell);
        cell.children = [];
      }
      column += Number(cell.attribs['table:number-columns-repeated'] ?? 1);
    }
  }
  return hidden;
}
