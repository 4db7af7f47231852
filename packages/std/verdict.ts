const YES =
  /^(?:y|yes|yep|yeah|ja|jawohl|oui|si|sí|sì|sim|claro|vale|adelante|daccord|vas-y|va bene|haan|हाँ|gerne|mach das|ok|okay|sure|certainly|of course|absolutely|approve|approved|approved it|i approve|allow|allowed|granted|confirmed|please do|do it|do that|do so|run it|go|go ahead|go on|go for it|fine|alright|all right|you may|please)$/;

const NO =
  /^(?:n|no|nope|nah|nein|non|never|deny|denied|refuse|refused|reject|rejected|stop|cancel|abort|forbid|forbidden|do not|dont|do not do it|dont do it|please dont|please do not|no way|rather not|id rather not|better not|not now|not yet|no thanks|no thank you)$/;

/** Says how, not whether. */
const COURTESY = /^(?:please|thanks|thank you|danke|bitte|then|now)$/;

export type Verdict = 'yes' | 'no' | 'unclear';

/**
 * What somebody answered to a request for approval. Each phrase of it must say the same; a condition, a question or
 * anything else is unclear and has to be asked again. A no that gives a reason is a no.
 */
export function readVerdict(answer: string): Verdict {
  const text = answer.toLowerCase().replace(/[’']/g, '').replace(/\s+/g, ' ').trim();
  if (/^(?:no|nope|nein|deny|denied|refuse|reject|do not|dont|stop|cancel)\b/.test(text)) return 'no';
  if (NO.test(text.replace(/(?<![.!,])[.!,]+$/, ''))) return 'no';
  if (text.includes('?')) return 'unclear';
  return phrasesOf(text).some(isAllYes) ? 'yes' : 'unclear';
}

/** The text cut into phrases at its signs, and at every space where it is a chain such as "ok do it" or "yes please". */
function phrasesOf(text: string): string[][] {
  const signs = text
    .split(/[.!,;]+/)
    .map((phrase) => phrase.trim())
    .filter((phrase) => phrase !== '');
  return [signs, signs.flatMap(chainOf)];
}

/** Splits a phrase into the longest known ones, from the left. */
function chainOf(phrase: string): string[] {
  const words = phrase.split(' ');
  const chain: string[] = [];
  for (let at = 0; at < words.length; ) {
    const next = words.slice(at, at + MOST_WORDS);
    const size = Math.max(1, next.findLastIndex((_, end) => isKnown(next.slice(0, end + 1).join(' '))) + 1);
    chain.push(next.slice(0, size).join(' '));
    at += size;
  }
  return chain;
}

/** Of a known phrase. */
const MOST_WORDS = 5;

function isKnown(phrase: string): boolean {
  return YES.test(phrase) || NO.test(phrase) || COURTESY.test(phrase);
}

function isAllYes(phrases: readonly string[]): boolean {
  return (
    phrases.some((phrase) => YES.test(phrase) && phrase !== 'please') &&
    phrases.every((phrase) => YES.test(phrase) || COURTESY.test(phrase))
  );
}

/** A scope is given only where more than one call can be approved, a note only with a no. */
export type ApprovalAnswer =
  | { approve: true; scope?: 'once' | 'task' | 'always' }
  | { approve: false; note?: string };

const yes = { once: 'yes', task: 'yes, for this task', always: 'yes, always' };

/** An answer in the words that approvals asked as questions are answered with. */
export function answerWords(answer: ApprovalAnswer): string {
  if (answer.approve) return yes[answer.scope ?? 'once'];
  return answer.note === undefined ? 'no' : `no: ${answer.note}`;
}
