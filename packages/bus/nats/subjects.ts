import { percentEncoded } from '../topics/topic.ts';

/** Ends every subject: `>` of NATS needs one more token where `#` takes none. */
const terminator = '~';
/** What NATS reads as a wildcard, what this encoding uses itself, and everything outside plain ASCII. */
const unsafe = /[^\x21-\x7e]|[*>%]/gu;

/** The subject of a topic. */
export function subjectOf(prefix: string, topic: string): string {
  return `${prefix}.${encoded(topic)}.${terminator}`;
}

/** The subject filter that takes exactly the topics of a pattern. */
export function filterOf(prefix: string, pattern: string): string {
  if (pattern === '#') return `${prefix}.>`;
  const tokens = pattern.split('.').map((segment) => (segment === '*' ? segment : encoded(segment)));
  if (tokens.at(-1) !== '#') return [prefix, ...tokens, terminator].join('.');
  return [prefix, ...tokens.slice(0, -1), '>'].join('.');
}

function encoded(text: string): string {
  return text.replace(unsafe, percentEncoded);
}
