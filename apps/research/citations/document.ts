import { type Span, sentenceSpans } from '../text/sentences.ts';
import { type Inventory, inventoryOf } from './absence.ts';
import { type Weights, weightsOf } from './alignment.ts';
import { type Statement, statementOf } from './statement.ts';

/** A document taken apart once, for any number of claims. */
export interface CheckedDocument {
  title: string;
  text: string;
  sentences: readonly { span: Span; statement: Statement }[];
  weight: Weights;
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

/** The claim without citation marks and Markdown. */
export function plainClaim(text: string): string {
  return text
    .replace(/\[\d{1,3}\??\]|\[\?\]/g, '')
    .replace(/\[([^\]]*)\]\([^)]*\)/g, '$1')
    .replace(/^\s*(?:[-*•>]|#{1,6}|\d+[.)])\s+/, '')
    .replace(/\*\*|__|`/g, '')
    .trim();
}
