import { BusError } from '../errors.ts';

/** The longest topic or pattern, in bytes of UTF-8. */
const maximumBytes = 512;
/** Printable ASCII, as nearly all topics are: decided quickly. */
const plainTopic = /^[!"$-)+-\-/-~]+(?:\.[!"$-)+-\-/-~]+)*$/;
const forbiddenInTopic = /[\s\p{Cc}*#]/u;
const forbiddenInPattern = /[\s\p{Cc}]/u;

/** Throws unless the text is a topic: segments between dots, none empty, no blank, control character, `*` or `#`. */
export function checkTopic(topic: unknown): asserts topic is string {
  if (typeof topic === 'string' && topic.length <= maximumBytes && plainTopic.test(topic)) return;
  const fault = shapeFault(topic) ?? characterFault(topic as string, forbiddenInTopic);
  if (fault === undefined) return;
  const words = `${quoted(topic)} is not a topic: ${fault}. Write text from data with escapeSegment.`;
  throw new BusError('topic_refused', words);
}

/** Throws unless the text is a pattern: a topic in which `*` stands for one segment and a last `#` for zero or more. */
export function checkPattern(pattern: unknown): asserts pattern is string {
  const fault = shapeFault(pattern) ?? characterFault(pattern as string, forbiddenInPattern);
  const words = fault ?? wildcardFault(pattern as string);
  if (words === undefined) return;
  throw new BusError('pattern_refused', `${quoted(pattern)} is not a pattern: ${words}.`);
}

/** Whether a well-formed pattern matches more than one topic. */
export function hasWildcard(pattern: string): boolean {
  return pattern.includes('*') || pattern.endsWith('#');
}

/** Whether the pattern matches the topic; both must be well formed. */
export function matchesTopic(pattern: string, topic: string): boolean {
  const wanted = pattern.split('.');
  const given = topic.split('.');
  for (let index = 0; index < wanted.length; index += 1) {
    const segment = wanted[index];
    if (segment === '#') return true;
    if (index === given.length || (segment !== '*' && segment !== given[index])) return false;
  }
  return wanted.length === given.length;
}

/** Whether every topic that `inner` matches is matched by `outer` too. */
export function coversPattern(outer: string, inner: string): boolean {
  const wide = outer.split('.');
  const narrow = inner.split('.');
  for (let index = 0; index < wide.length; index += 1) {
    const segment = wide[index];
    if (segment === '#') return true;
    if (index === narrow.length || narrow[index] === '#') return false;
    if (segment !== '*' && segment !== narrow[index]) return false;
  }
  return wide.length === narrow.length;
}

/** Most ids and names. */
const plainSegment = /^[\w:@-]+$/;

/** Writes any text as one segment of a topic; different texts give different segments. */
export function escapeSegment(text: string): string {
  if (text === '') return '%';
  if (plainSegment.test(text)) return text;
  return text.toWellFormed().replace(/[\s\p{Cc}.*#>%]/gu, percentEncoded);
}

/** The text that `escapeSegment` was given. */
export function unescapeSegment(segment: string): string {
  return segment === '%' ? '' : decodeURIComponent(segment);
}

/** Percent-encodes the UTF-8 bytes, also those that `encodeURIComponent` leaves alone. */
export function percentEncoded(text: string): string {
  return Array.from(Buffer.from(text), (byte) => `%${byte.toString(16).toUpperCase().padStart(2, '0')}`).join(
    '',
  );
}

function shapeFault(text: unknown): string | undefined {
  if (typeof text !== 'string') return 'it is not text';
  if (text === '') return 'it is empty';
  if (`.${text}.`.includes('..')) return 'it has an empty segment';
  if (!text.isWellFormed()) return 'it holds half of a character';
  if (text.length * 3 > maximumBytes && Buffer.byteLength(text) > maximumBytes) {
    return `it is longer than ${maximumBytes} bytes`;
  }
  return undefined;
}

function characterFault(text: string, forbidden: RegExp): string | undefined {
  const found = forbidden.exec(text)?.[0];
  return found === undefined ? undefined : `it holds ${JSON.stringify(found)}`;
}

function wildcardFault(pattern: string): string | undefined {
  const segments = pattern.split('.');
  const misplaced = segments.slice(0, -1).includes('#');
  if (misplaced) return '"#" may only be its last segment';
  const mixed = segments.find((segment) => segment.length > 1 && /[*#]/.test(segment));
  if (mixed === undefined) return undefined;
  return `the segment ${JSON.stringify(mixed)} mixes a wildcard with text`;
}

function quoted(text: unknown): string {
  return typeof text === 'string' ? JSON.stringify(text.slice(0, 100)) : `A ${typeof text}`;
}
