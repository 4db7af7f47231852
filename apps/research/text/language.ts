/** Words that are frequent in one language and rare or missing in the others; only to tell which language a text is in. */
const FREQUENT: Readonly<Record<string, ReadonlySet<string>>> = Object.fromEntries(
  Object.entries({
    en: 'the of and to is was by for from with that were has had not are its it be which their this have they been but than more',
    de: 'der die das und ist von mit für ein eine einen den dem des zu auf nicht sich auch als im wurde werden sind bei nach wird',
    fr: 'le la les des et est une du dans pour que qui par sur au aux plus pas ce cette sont ont été avec il elle en un se ne',
    es: 'el los las y del se con una por su que es fue en un lo para como más al son la ha pero entre este esta no',
    it: 'il di che è gli nel della dei con per una sono del al la le un non si da più alla anche come stato',
    pt: 'o os da do em uma não que é para com as dos no na por mais foi um se ao como são sua',
    nl: 'het een van en de is dat op te zijn met voor niet aan er om werd ook als bij door naar wordt',
  }).map(([language, words]) => [language, new Set(words.split(' '))]),
);

const LATIN = /\p{Script=Latin}/u;
const LETTERS = /\p{L}/gu;
const SAMPLE = 4000;

/**
 * Whether a text may be English: Latin letters, and no other language has more of its frequent words. A text of names and
 * figures alone may be.
 */
export function mayBeEnglish(text: string): boolean {
  const sample = text.slice(0, SAMPLE);
  const letters = sample.match(LETTERS) ?? [];
  if (letters.filter((letter) => LATIN.test(letter)).length < letters.length * 0.9) return false;
  const words = sample.toLowerCase().match(/\p{L}+/gu) ?? [];
  const hitsOf = (known: ReadonlySet<string>) => words.filter((word) => known.has(word)).length;
  const { en = new Set<string>(), ...others } = FREQUENT;
  const english = hitsOf(en);
  return Object.values(others).every((known) => hitsOf(known) <= english);
}
