import {
  Bookmark,
  Document,
  ExternalHyperlink,
  HeadingLevel,
  InternalHyperlink,
  LevelFormat,
  Packer,
  Paragraph,
  type ParagraphChild,
  Table,
  TableCell,
  TableRow,
  TextRun,
  WidthType,
} from 'docx';
import type { Claim } from '../api-types.ts';
import { type Bundle, citedSources } from './bundle.ts';
import { type Block, claimAnchor, type Inline, linkedReport, verdictText } from './markdown.ts';

const HEADINGS = [HeadingLevel.TITLE, HeadingLevel.HEADING_1, HeadingLevel.HEADING_2, HeadingLevel.HEADING_3];
const NUMBERED = 'numbered';
const CELL_MARGINS = { top: 60, bottom: 60, left: 100, right: 100 };

/** The report as a Word document; its citations lead to the passages at its end. */
export async function toDocx(given: Bundle): Promise<Uint8Array> {
  const bundle = printable(given);
  const blocks = linkedReport(bundle);
  const document = new Document({
    title: bundle.job.query,
    creator: 'Trunkline Research',
    numbering: { config: [{ reference: NUMBERED, levels: [numberedLevel] }] },
    sections: [
      { children: [...blocks.flatMap((block, index) => paragraphsOf(block, index)), ...evidence(bundle)] },
    ],
  });
  return await Packer.toBuffer(document);
}

/** Without the two signs that XML has no way to write. PDF files hold one where a word is divided, and Word would refuse the whole file. */
function printable<Value>(value: Value): Value {
  return JSON.parse(JSON.stringify(value), (_name, part: unknown) =>
    typeof part === 'string' ? part.replace(/[\ufffe\uffff]/g, '') : part,
  ) as Value;
}

const numberedLevel = {
  level: 0,
  format: LevelFormat.DECIMAL,
  text: '%1.',
  style: { paragraph: { indent: { left: 500, hanging: 360 } } },
};

function paragraphsOf(block: Block, index: number): (Paragraph | Table)[] {
  switch (block.type) {
    case 'heading': {
      const heading = HEADINGS[block.level - 1] ?? HeadingLevel.HEADING_3;
      return [new Paragraph({ heading, children: runsOf(block.children) })];
    }
    case 'quote':
      return [new Paragraph({ indent: { left: 500 }, children: runsOf(block.children) })];
    case 'list':
      return block.items.map(
        (item) => new Paragraph({ ...listStyle(block.ordered, index), children: runsOf(item) }),
      );
    case 'table':
      return [tableOf(block), new Paragraph({ spacing: { after: 160 } })];
    case 'code':
      return block.text
        .split('\n')
        .map((line) => new Paragraph({ children: [new TextRun({ text: line, font: 'Courier New' })] }));
    default:
      return [new Paragraph({ spacing: { after: 160 }, children: runsOf(block.children) })];
  }
}

function tableOf({ header, rows, aligns }: Extract<Block, { type: 'table' }>): Table {
  const row = (cells: readonly Inline[][], isHeader: boolean) =>
    new TableRow({
      ...(isHeader && { tableHeader: true }),
      cantSplit: true,
      children: cells.map((cell, column) => {
        const children = runsOf(cell, isHeader ? { bold: true } : {});
        return new TableCell({
          margins: CELL_MARGINS,
          children: [new Paragraph({ alignment: aligns[column] ?? 'left', children })],
        });
      }),
    });
  return new Table({
    width: { size: 100, type: WidthType.PERCENTAGE },
    rows: [row(header, true), ...rows.map((cells) => row(cells, false))],
  });
}

/** Each ordered list counts from one. */
function listStyle(ordered: boolean, instance: number) {
  return ordered ? { numbering: { reference: NUMBERED, level: 0, instance } } : { bullet: { level: 0 } };
}

interface RunStyle {
  bold?: boolean;
  italics?: boolean;
}

function runsOf(children: readonly Inline[], style: RunStyle = {}): ParagraphChild[] {
  return children.flatMap((child): ParagraphChild[] => {
    if (child.type === 'strong') return runsOf(child.children, { ...style, bold: true });
    if (child.type === 'emphasis') return runsOf(child.children, { ...style, italics: true });
    if (child.type === 'code') return [new TextRun({ ...style, text: child.text, font: 'Courier New' })];
    if (child.type === 'text') return [new TextRun({ ...style, text: child.text })];
    return [linkOf(child.href, new TextRun({ ...style, text: child.text, style: 'Hyperlink' }))];
  });
}

function linkOf(href: string, run: TextRun): ParagraphChild {
  return href.startsWith('#')
    ? new InternalHyperlink({ anchor: href.slice(1), children: [run] })
    : new ExternalHyperlink({ link: href, children: [run] });
}

function evidence(bundle: Bundle): Paragraph[] {
  const cited = citedSources(bundle);
  const titles = new Map(cited.map(({ number, title }) => [number, title]));
  return [
    new Paragraph({ heading: HeadingLevel.HEADING_1, children: [new TextRun('Evidence')] }),
    ...bundle.claims.flatMap((claim, index) => claimParagraphs(claim, index, titles.get(claim.number ?? 0))),
  ];
}

function claimParagraphs(claim: Claim, index: number, title: string | undefined): Paragraph[] {
  const id = claimAnchor(index).slice(1);
  const sentence = new Bookmark({ id, children: [new TextRun({ text: claim.sentence, bold: true })] });
  const passage = claim.passage === '' ? [] : [new TextRun({ text: `“${claim.passage}”`, italics: true })];
  const from = title === undefined ? [] : [new TextRun(` (${title})`)];
  return [
    new Paragraph({ spacing: { before: 200 }, children: [sentence] }),
    new Paragraph({ children: [new TextRun(`${verdictText(claim)}.`)] }),
    ...(passage.length === 0
      ? []
      : [new Paragraph({ indent: { left: 500 }, children: [...passage, ...from] })]),
  ];
}
