/** The words of a text in lower case, without punctuation. */
export function wordsIn(text: string): string[] {
  return (
    text
      .toLowerCase()
      .replace(/[’']/g, '')
      .match(/[\p{L}\p{N}]+/gu) ?? []
  );
}

/** Words of a listener who wants the speaker to go on. */
const murmurs = new Set(
  'mhm mmhm mm mmm hm hmm uhhuh huh yeah yep yup yes right okay ok sure oh ah aha wow really cool nice great good true exactly indeed gotcha alright interesting fine'.split(
    ' ',
  ),
);
const murmuredPhrases = [
  'i see',
  'got it',
  'uh huh',
  'mm hm',
  'm hm',
  'mm hmm',
  'of course',
  'i know',
  'go on',
  'makes sense',
  'sounds good',
  'all right',
];
const hesitations = new Set(['um', 'uh', 'er', 'erm', 'uhm', 'eh']);
const longestMurmur = 4;

/** Whether somebody only shows that they listen: "mhm", "yeah, right", "I see". */
export function isBackchannel(text: string): boolean {
  const words = wordsIn(text);
  if (words.length === 0 || words.length > longestMurmur) return false;
  const rest = murmuredPhrases.reduce(
    (left, phrase) => left.replaceAll(` ${phrase} `, ' '),
    ` ${words.join(' ')} `,
  );
  return rest.split(' ').every((word) => word === '' || murmurs.has(word) || hesitations.has(word));
}

const orders = new Set(['stop', 'wait', 'no', 'cancel', 'quiet', 'enough', 'pause', 'hey', 'sorry']);

/** Whether a single word is meant to stop the one who speaks. */
export function isStopWord(text: string): boolean {
  return wordsIn(text).some((word) => orders.has(word));
}

export function isHesitation(word: string): boolean {
  return hesitations.has(word);
}

/** As much as one message may hold: what was said first goes. */
const longestJoined = 8000;

/** What was said before and what was said now, as one text. */
export function joined(before: string, text: string): string {
  const whole = before === '' || text === '' ? before + text : `${before} ${text}`;
  return whole.slice(-longestJoined);
}
