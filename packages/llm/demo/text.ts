const politeness =
  /^(?:(?:hey|hi|hello|ok|okay|so|well|also|and|then|now|please|kindly|just|trunkline)[,!]?\s+|(?:can|could|would|will) you (?:please |kindly )?|i(?:'d| would) like you to |i want you to |go ahead and )/i;

const stopWords = new Set(
  `a about above after again all also am an and any are as at be because been before being below between both but by can could did do does doing down during each
  few for from further had has have having he her here hers him his how however i if in into is it its itself just like may me might more most much must my no nor
  not now of off on once only or other our ours out over own please same she should so some such than that the their theirs them then there these they this those
  through to too under until up us very was we were what when where which while who whom why will with would you your yours tell know there's it's i'm`
    .split(/\s+/)
    .filter(Boolean),
);

export function wordsIn(text: string): string[] {
  return text.toLowerCase().match(/[\p{L}\p{N}][\p{L}\p{N}'’-]*/gu) ?? [];
}

/** Words that carry meaning: no articles, pronouns or auxiliaries. */
export function contentWords(text: string): string[] {
  return wordsIn(text).filter((word) => !stopWords.has(word) && (word.length > 1 || /\d/.test(word)));
}

/** Sentences in order, with list marks and heading marks taken off. */
export function sentencesOf(text: string): string[] {
  return text
    .split(/\n+/)
    .flatMap((line) =>
      line
        .replace(/^\s*(?:[-*•]|#{1,6}|\d+[.)])\s+/, '')
        .split(/(?=\s)(?<=[.!?]["')\]]*)\s+(?=[\p{Lu}\p{N}"'([])/u),
    )
    .map((sentence) => sentence.trim())
    .filter((sentence) => /[\p{L}\p{N}]/u.test(sentence));
}

/** Cuts at a word boundary and marks the cut. */
export function shorten(text: string, limit: number): string {
  if (text.length <= limit) return text;
  const cut = text.slice(0, Math.max(0, limit - 1));
  const space = cut.lastIndexOf(' ');
  return `${(space > limit / 2 ? cut.slice(0, space) : cut).trimEnd()}…`;
}

export function capitalise(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1);
}

/** Takes surrounding quotes and closing punctuation off a phrase. */
export function trimPhrase(text: string): string {
  const phrase = withoutEnd(text.trim(), /[\s?.!,;:]/);
  return withoutEnd(phrase, /["'”’]/)
    .replace(/^["'“‘]+/, '')
    .trim();
}

/** Takes these characters off the end. A pattern that ends with `$` would walk every run of them in the text. */
export function withoutEnd(text: string, character: RegExp): string {
  let end = text.length;
  while (end > 0 && character.test(text.charAt(end - 1))) end -= 1;
  return text.slice(0, end);
}

const otherPerson: Record<string, string> = {
  i: 'you',
  me: 'you',
  my: 'your',
  mine: 'yours',
  myself: 'yourself',
  am: 'are',
  "i'm": 'you are',
};

/** Turns "which colour I like" into "which colour you like". */
export function toSecondPerson(text: string): string {
  return text.replace(/[\p{L}']+/gu, (word) => otherPerson[word.toLowerCase()] ?? word);
}

/** Splits a message into stages that run one after the other: "search otters, then remember it". */
export function stagesOf(text: string): string[] {
  return text
    .split(/[,;.]?\s+(?:and\s+)?(?:then|after that|afterwards),?\s+/i)
    .map((stage) => stage.trim())
    .filter(Boolean);
}

/**
 * Splits a stage into clauses that may each hold a wish of their own.
 * A sentence is split at "and" only where both sides are understood, so "tea and coffee" stays whole.
 */
export function clausesOf(stage: string, isUnderstood: (clause: string) => boolean): string[] {
  return stage
    .split(/(?<=[.?!;])\s+|\n+/)
    .flatMap((sentence) => splitAtAnd(sentence.trim(), isUnderstood))
    .map(stripPoliteness)
    .filter((clause) => /[\p{L}\p{N}]/u.test(clause));
}

/** What follows more joints than this belongs to the last clause: each costs a look at all intents. */
const mostClauses = 20;

function splitAtAnd(sentence: string, isUnderstood: (clause: string) => boolean): string[] {
  const understood = (part: string): boolean => isUnderstood(stripPoliteness(part));
  const [first = '', ...parts] = sentence.split(/(,?\s+(?:and|also|as well as)\s+(?:also\s+)?)/i);
  const clauses = [first];
  for (let index = 0; index < parts.length; index += 2) {
    const [joint = '', part = ''] = [parts[index], parts[index + 1]];
    const last = clauses.at(-1) ?? '';
    const isNext = index < 2 * mostClauses && understood(part) && understood(last);
    if (isNext) clauses.push(part);
    else clauses[clauses.length - 1] = last + joint + part;
  }
  return clauses;
}

function stripPoliteness(clause: string): string {
  let rest = clause.trim();
  for (let shorter = rest.replace(politeness, ''); shorter !== rest; shorter = rest.replace(politeness, ''))
    rest = shorter;
  return rest.replace(/,?\s+(?:please|thanks|thank you)(?=[.?!]*$)/i, '').trim();
}
