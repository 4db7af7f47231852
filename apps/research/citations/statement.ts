import { readingsOf } from './figures.ts';
import { type Token, tokensOf } from './tokens.ts';

/** A number of a text. */
export interface Figure {
  /** What it may mean: "1.234" is another number in English than in German. */
  values: readonly number[];
  /** As it is written. */
  text: string;
  isYear: boolean;
  isPercent: boolean;
  /** Place among the tokens. */
  at: number;
}

/** A sentence taken apart into what can be compared. */
export interface Statement {
  tokens: readonly Token[];
  /** Stems that carry meaning, each once, in order. */
  stems: readonly string[];
  figures: readonly Figure[];
}

export function statementOf(text: string): Statement {
  const tokens = tokensOf(text);
  const content = tokens.filter((token) => token.content);
  return {
    tokens,
    stems: [...new Set(content.map((token) => token.stem))],
    figures: tokens.flatMap((token, at) => (token.kind === 'number' ? [figureAt(tokens, token, at)] : [])),
  };
}

function figureAt(tokens: readonly Token[], { text }: Token, at: number): Figure {
  const values = readingsOf(text);
  return {
    values,
    text,
    isYear:
      values.length === 1 && /^(?:1\d{3}|20\d{2}|2100)$/.test(String(values[0])) && !/[.,\s]/.test(text),
    isPercent: /^(?:[%٪]|percent)$/.test(tokens[at + 1]?.lower ?? ''),
    at,
  };
}
