const lead =
  /^(?:what(?:'s| is| are)|how much (?:is|are)|calculate|compute|work out|evaluate|solve|tell me)\s+/i;

/** Spoken arithmetic and the signs for it, applied in order. */
const spoken: [RegExp, string][] = [
  [/(\d),(?=\d{3}\b)/g, '$1'],
  [/([\d.]+)\s*(?:%|percent)\s+of\s+/gi, '$1 / 100 * '],
  [/\b(?:the )?square root of ([\d.]+)/gi, '$1 ** 0.5'],
  [/\bhalf of\b/gi, '0.5 *'],
  [/\btwice\b/gi, '2 *'],
  [/\bsquared\b/gi, '** 2'],
  [/\bcubed\b/gi, '** 3'],
  [/\b(?:to the power of|raised to)\b|\^/gi, '**'],
  [/\bplus\b/gi, '+'],
  [/\bminus\b/gi, '-'],
  [/\b(?:times|multiplied by)\b|×|(?<=[\d)]\s*)x(?=\s*[\d(])/gi, '*'],
  [/\b(?:divided by|over)\b|÷/gi, '/'],
  [/\b(?:mod|modulo)\b/gi, '%'],
  [/[−–]/g, '-'],
];

/** The arithmetic expression that a clause asks for, or nothing when the clause is anything else. */
export function expressionOf(clause: string): string | undefined {
  const body = clause.replace(lead, '').replace(/[\s?=.!]+$/, '');
  const expression = spoken.reduce((text, [pattern, sign]) => text.replace(pattern, sign), body).trim();
  const isArithmetic = /^[\d\s.+\-*/%()]+$/.test(expression);
  const hasOperation = /[\d)]\s*(?:[+\-/%]|\*\*?|\/\/)\s*[-+(]*\d/.test(expression);
  return isArithmetic && hasOperation ? expression.replace(/\s+/g, ' ') : undefined;
}
