import { type Token, tokensOf } from './tokens.ts';

/** A number of a text. */
export interface Figure {
  value: number;
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

const MAGNITUDES = new Set(
  'hundred thousand million billion trillion percent approximately roughly nearly almost'.split(' '),
);

export function statementOf(text: string): Statement {
  const tokens = tokensOf(text);
  const content = tokens.filter((token) => token.content && !MAGNITUDES.has(token.lower));
  return {
    tokens,
    stems: [...new Set(content.map((token) => token.stem))],
    figures: tokens.flatMap((token, at) => (token.kind === 'number' ? [figureAt(tokens, token, at)] : [])),
  };
}

function figureAt(tokens: readonly Token[], { text }: Token, at: number): Figure {
  return {
    value: Number(text.replaceAll(',', '')),
    text,
    isYear: /^(?:1\d{3}|20\d{2}|2100)$/.test(text),
    isPercent: /^(?:%|percent)$/.test(tokens[at + 1]?.lower ?? ''),
    at,
  };
}
