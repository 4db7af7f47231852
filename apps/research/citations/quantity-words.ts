import { likelyLanguage, mayBeEnglish } from '../text/sentences.ts';

/** Words around numbers that change what they say, by language; Intl has none of them. Two words have a space between. */
interface QuantityWords {
  /** The number is a rough one. */
  rough: string;
  /** Articles before "dozen" and "half", and "one" before a unit: "an hour". */
  article: string;
  half: string;
  dozen: string;
  /** "And a half", behind a unit or a number. */
  andHalf: string;
  /** Stands between a scale and what is counted: "millions de francs". */
  partitive: string;
  /** Stands between the two ends of a range. */
  to: string;
  /** Stands between a unit and that of the time it takes: "60 miles an hour". */
  per: string;
}

const WORDS: Readonly<Record<string, QuantityWords>> = {
  en: {
    rough: 'about around roughly approximately nearly almost some circa ca c approx virtually',
    article: 'a an one',
    half: 'half',
    dozen: 'dozen',
    andHalf: 'and a half',
    partitive: '',
    to: 'to and or',
    per: 'per a an each every',
  },
  de: {
    rough: 'etwa rund ungefähr circa ca zirka knapp fast beinahe annähernd nahezu gut',
    article: 'ein eine einen einem einer die der das',
    half: 'hälfte halbe halben halber halbes',
    dozen: 'dutzend',
    andHalf: '',
    partitive: '',
    to: 'bis und',
    per: 'pro je in,der die',
  },
  fr: {
    rough: 'environ presque quelque quelques près,de à,peu,près autour,de',
    article: 'un une la le',
    half: 'moitié demi demie',
    dozen: '',
    andHalf: 'et demie|et demi',
    partitive: 'de d',
    to: 'à et',
    per: 'par à',
  },
  es: {
    rough: 'aproximadamente casi unos unas alrededor,de cerca,de',
    article: 'un una la el',
    half: 'mitad medio media',
    dozen: 'docena docenas',
    andHalf: 'y media|y medio',
    partitive: 'de',
    to: 'a y',
    per: 'por a,la',
  },
  it: {
    rough: 'circa quasi approssimativamente',
    article: 'un una uno la il',
    half: 'metà mezzo mezza',
    dozen: '',
    andHalf: 'e mezzo|e mezza',
    partitive: 'di',
    to: 'a e',
    per: 'per',
  },
  pt: {
    rough: 'aproximadamente quase cerca,de',
    article: 'um uma a o',
    half: 'metade meio meia',
    dozen: 'dúzia dúzias',
    andHalf: 'e meia|e meio',
    partitive: 'de',
    to: 'a e',
    per: 'por à',
  },
  nl: {
    rough: 'ongeveer circa bijna zowat ruim',
    article: 'een de het',
    half: 'helft half halve',
    dozen: 'dozijn',
    andHalf: '',
    partitive: '',
    to: 'tot en',
    per: 'per',
  },
  sv: {
    rough: 'ungefär cirka nästan omkring drygt',
    article: 'en ett',
    half: 'hälften halv halvt',
    dozen: 'dussin',
    andHalf: 'och en halv',
    partitive: '',
    to: 'till och',
    per: 'per i',
  },
  pl: {
    rough: 'około prawie niemal blisko',
    article: '',
    half: 'połowa połowę pół',
    dozen: 'tuzin',
    andHalf: 'i pół',
    partitive: '',
    to: 'do i',
    per: 'na',
  },
  ru: {
    rough: 'около примерно почти приблизительно порядка',
    article: '',
    half: 'половина половину половины',
    dozen: 'дюжина дюжину дюжины',
    andHalf: 'с половиной',
    partitive: '',
    to: 'до и',
    per: 'в',
  },
  zh: {
    rough: '约 約 大约 大約 大概 近 将近 將近 约为',
    article: '',
    half: '一半 半',
    dozen: '',
    andHalf: '',
    partitive: '',
    to: '至 到',
    per: '每',
  },
  ja: {
    rough: '約 およそ おおよそ ほぼ',
    article: '',
    half: '半分 半数',
    dozen: 'ダース',
    andHalf: '半',
    partitive: '',
    to: 'から',
    per: '毎',
  },
  th: {
    rough: 'ประมาณ ราว เกือบ',
    article: '',
    half: 'ครึ่ง',
    dozen: 'โหล',
    andHalf: 'ครึ่ง',
    partitive: '',
    to: 'ถึง',
    per: 'ต่อ',
  },
  ar: {
    rough: 'حوالي نحو تقريبا قرابة زهاء',
    article: '',
    half: 'نصف',
    dozen: 'دزينة',
    andHalf: 'ونصف',
    partitive: '',
    to: 'إلى',
    per: 'في,ال في',
  },
};

type Kind = keyof QuantityWords;

/** Phrases as their words. */
function phrasesOf(languages: readonly string[], kind: Kind): ReadonlySet<string> {
  const separator = kind === 'andHalf' ? '|' : ' ';
  return new Set(
    languages.flatMap((language) =>
      (WORDS[language]?.[kind] ?? '')
        .split(separator)
        .flatMap((phrase) => (phrase === '' ? [] : [phrase.replaceAll(',', ' ')])),
    ),
  );
}

const english = setsOf(['en']);
const others = setsOf(Object.keys(WORDS).filter((language) => language !== 'en'));

function setsOf(languages: readonly string[]): Readonly<Record<Kind, ReadonlySet<string>>> {
  const of = (kind: Kind) => phrasesOf(languages, kind);
  return {
    rough: of('rough'),
    article: of('article'),
    half: of('half'),
    dozen: of('dozen'),
    andHalf: of('andHalf'),
    partitive: of('partitive'),
    to: of('to'),
    per: of('per'),
  };
}

const LONGEST = 3;

/** How many of the words from this place on are a phrase of this kind, of English or of the other languages; 0 if none is. */
export function phraseLength(
  words: readonly { lower: string }[],
  at: number,
  kind: Kind,
  isEnglish: boolean,
): number {
  const known = (isEnglish ? english : others)[kind];
  for (let length = Math.min(LONGEST, words.length - at); length > 0; length -= 1) {
    const phrase = words
      .slice(at, at + length)
      .map(({ lower }) => lower)
      .join(' ');
    if (known.has(phrase)) return length;
  }
  return 0;
}

/** Scales that stand behind a figure as a sign: "3bn", "5 Md€"; and those that are one only right behind it: "£1.2m", "12k". */
const SIGNS: Readonly<Record<string, number>> = { M: 1e6, bn: 1e9, Md: 1e9, Mds: 1e9, Mrd: 1e9, tn: 1e12 };
const GLUED_SIGNS: Readonly<Record<string, number>> = { k: 1e3, K: 1e3 };
const ENGLISH_SIGNS: Readonly<Record<string, number>> = { m: 1e6, mn: 1e6, b: 1e9 };

/** The scale that a word behind a number is the sign of. Small m is a metre too. */
export function scaleSign(
  { text, isGlued }: { text: string; isGlued?: true },
  isEnglish: boolean,
): number | undefined {
  const glued = GLUED_SIGNS[text] ?? (isEnglish ? ENGLISH_SIGNS[text] : undefined);
  return SIGNS[text] ?? (isGlued ? glued : undefined);
}

/** How a text writes numbers. */
export interface Notation {
  isEnglish: boolean;
  /** The mark before decimals, where the language is known. */
  decimal: '.' | ',' | undefined;
  /** Its language puts a space between thousands. */
  isSpaced: boolean;
}

/** `around`: how the page of a claim writes them, which holds where the claim does not tell. */
export function notationOf(text: string, around?: Notation): Notation {
  const language = likelyLanguage(text);
  const isEnglish = around?.isEnglish !== false && mayBeEnglish(text);
  if (language === undefined)
    return { isEnglish, decimal: around?.decimal, isSpaced: around?.isSpaced ?? false };
  return { isEnglish, ...marksOf(language) };
}

const known = new Map<string, Omit<Notation, 'isEnglish'>>();

function marksOf(language: string): Omit<Notation, 'isEnglish'> {
  const before = known.get(language);
  if (before !== undefined) return before;
  const parts = new Intl.NumberFormat(`${language}-u-nu-latn`).formatToParts(10_000.5);
  const mark = (wanted: string) => parts.find(({ type }) => type === wanted)?.value ?? '';
  const marks = { decimal: mark('decimal') === ',' ? ',' : '.', isSpaced: /\s/.test(mark('group')) } as const;
  known.set(language, marks);
  return marks;
}
