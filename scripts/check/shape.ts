import { dirname, join, normalize } from 'node:path';
import privateWords from './private-words.json' with { type: 'json' };

type Sources = ReadonlyMap<string, string>;

/** Circles of imports between files, those of types included: each is named once, by the import that closes it. */
export function circleBreaches(sources: Sources): string[] {
  const breaches: string[] = [];
  const state = new Map<string, 'open' | 'done'>();
  const visit = (file: string): void => {
    state.set(file, 'open');
    for (const target of importsOf(file, sources)) {
      if (state.get(target) === 'open')
        breaches.push(`${file}: imports ${target}, which closes an import circle`);
      else if (!state.has(target)) visit(target);
    }
    state.set(file, 'done');
  };
  for (const file of sources.keys()) if (!state.has(file)) visit(file);
  return breaches;
}

function importsOf(file: string, sources: Sources): string[] {
  const named = (sources.get(file) ?? '').matchAll(/\bfrom '(\.[^']+)'/g);
  const targets = [...named].map(([, path = '']) => normalize(join(dirname(file), path)));
  return [...new Set(targets)].filter((target) => sources.has(target));
}

/** Private words as patterns of whole identifiers, and what the field says instead. */
const dialect = Object.entries(privateWords).map(([word, better]) => ({
  pattern: new RegExp(`\\b(?:${word})\\b`, 'g'),
  better,
}));

export function dialectBreaches(file: string, text: string): string[] {
  const code = withoutComments(text);
  return dialect.flatMap(({ pattern, better }) =>
    [...new Set([...code.matchAll(pattern)].map(([word]) => word))].map(
      (word) => `${file}: ${word} is a private word; say ${better}`,
    ),
  );
}

/** Mechanisms that stand once, in packages/std. */
const standard =
  'errorMessage|toError|formatDuration|KeyedQueue|ConcurrencyLimiter|Mutex|QueueFullError|CircuitBreaker|Breaker|Circuit|Deadline|startDeadline|withTimeout|whenAborted';
const declaration = new RegExp(`^(?:export )?(?:async )?(?:function|class|const) (${standard})\\b`, 'gm');
const inlineCopy = /\b(\w+) instanceof Error \? \1(?:\.message : String\(\1\)| : new Error\(String\(\1\)\))/g;

export function copyBreaches(file: string, text: string): string[] {
  if (file.startsWith('packages/std/')) return [];
  const declared = [...text.matchAll(declaration)].map(([, name]) => `a second ${name}`);
  const inline = [...text.matchAll(inlineCopy)].map(() => 'a copy of errorMessage or toError');
  return [...new Set([...declared, ...inline])].map((what) => `${file}: ${what}; use @trunkline/std`);
}

function withoutComments(text: string): string {
  return text.replace(/\/\*[\s\S]*?\*\//g, '').replace(/^\s*\/\/.*$/gm, '');
}
