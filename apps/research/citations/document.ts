import { type Span, sentenceSpans } from '../text/sentences.ts';
import { type Inventory, inventoryOf } from './absence.ts';
import { type Statement, statementOf } from './statement.ts';

/** A document taken apart once, for any number of claims. */
export interface CheckedDocument {
  title: string;
  text: string;
  sentences: readonly { span: Span; statement: Statement }[];
  /** How rare a stem is in the document: a rare one says more about whether two sentences mean the same. */
  weight(stem: string): number;
  inventory: Inventory;
}

const MOST_SENTENCES = 4000;

export function prepareDocument(title: string, text: string): CheckedDocument {
  const sentences = sentenceSpans(text)
    .slice(0, MOST_SENTENCES)
    .map((span) => ({ span, statement: statementOf(span.text) }));
  const statements = sentences.map(({ statement }) => statement);
  return {
    title,
    text,
    sentences,
    weight: weightsOf(statements),
    inventory: inventoryOf(title, text, statements),
  };
}

function weightsOf(statements: readonly Statement[]): CheckedDocument['weight'] {
  const counts = new Map<string, number>();
  for (const { stems } of statements) for (const stem of stems) counts.set(stem, (counts.get(stem) ?? 0) + 1);
  const total = Math.max(1, statements.length);
  return (stem) => 1 + 0.25 * Math.log((total + 1) / ((counts.get(stem) ?? 0) + 1));
}

/** The claim without citation marks and Markdown. */
export function plainClaim(text: string): string {
  return text
    .replace(/\[\d{1,3}\??\]|\[\?\]/g, '')
    .replace(/\[([^\]]*)\]\([^)]*\)/g, '$1')
    .replace(/^\s*(?:[-*•>]|#{1,6}|\d+[.)])\s+/, '')
    .replace(/\*\*|__|`/g, '')
    .trim();
}
