import en from './en.json' with { type: 'json' };
import es from './es.json' with { type: 'json' };
import fr from './fr.json' with { type: 'json' };
import hi from './hi.json' with { type: 'json' };
import it from './it.json' with { type: 'json' };
import pt from './pt.json' with { type: 'json' };

export interface FillerPhrases {
  /** Said when the model is late. */
  acknowledgements: readonly string[];
  /** Said when a tool starts and the model has said nothing: in English 2-4, 4-8 and up to 12 words. */
  preambles: readonly string[];
  /** Said while a slow tool runs. */
  progress: readonly string[];
}

/** Words for the normaliser (`speech/synthesis/inprocess/normalise.ts`). Several forms are separated by `|`. */
interface SpokenWords {
  and: string;
  or: string;
  /** Between the ends of a range. */
  to: string;
  number: string;
  percent: string;
  decimal: string;
  version: string;
  /** For addresses of mail and web, and for file names. */
  at: string;
  dot: string;
  slash: string;
  hyphen: string;
  underscore: string;
  symbols: Readonly<Record<string, string>>;
  /** `few`: less than ten minutes. `after`: what may follow a time and is not said again. */
  time: { hour: string; minutes: string; few: string; after: string };
  firstOfMonth: string;
  /** The first ten, for `1º` and `1er`. */
  ordinals: string;
  /** By code: one, many, one and many of the hundredth part. Others are named by `Intl`. */
  currencies: Readonly<Record<string, string>>;
  moneyJoin: string;
  /** Between a million and what is counted. */
  scaleOf: string;
  scales: Readonly<Record<string, string>>;
  scaleWords: string;
  /** One and many of units that `Intl` does not know. */
  units: Readonly<Record<string, string>>;
  fractions: Readonly<Record<string, string>>;
  abbreviations: Readonly<Record<string, string>>;
  /** Words after which a number is read digit by digit. */
  digitsAfter: string;
  /** Telephone numbers without a country code, as a pattern. */
  phones: string;
}

/** A file of this directory: what a call says and understands in one language. */
export interface Language {
  /** For `Intl`. */
  locale: string;
  fillers: Readonly<Record<'silent' | 'brief' | 'narrated' | 'chatty', FillerPhrases>>;
  apologies: { failed: string; stuck: string; empty: string };
  /** Said to a caller who speaks for long. */
  backchannel: string;
  /** Said when nothing was understood. */
  reprompt: string;
  /** Said when nothing was understood again. */
  repromptAgain: string;
  stillThere: string;
  /** Said in the place of an address. */
  link: string;
  /** Patterns match words in lower case without punctuation. */
  notifications: {
    says: string;
    several: string;
    others: string;
    later: string;
    /** Numbers from 0 to 10. */
    counts: string;
    /** What may precede a yes or a no. */
    opening: string;
    yes: string;
    no: string;
    asking: string;
  };
  /** Words and phrases of callers, separated by commas. */
  heard: { comesBack: string; hesitations: string };
  spoken: SpokenWords;
}

export const languages: Readonly<Record<string, Language>> = { en, es, fr, hi, it, pt };

/** The first letters of Kokoro's voices. */
const letters: Readonly<Record<string, string>> = {
  a: 'en',
  b: 'en',
  e: 'es',
  f: 'fr',
  h: 'hi',
  i: 'it',
  p: 'pt',
};

/** By a code such as `pt` or `pt-BR`, or by Kokoro's letter; English for others. */
export function languageOf(lang: string): Language {
  return languages[languageCode(lang)] ?? en;
}

/** The code of a language: `pt` for `pt-BR` and for Kokoro's `p`. */
export function languageCode(lang: string): string {
  const code = lang.toLowerCase();
  return letters[code] ?? { j: 'ja', z: 'zh' }[code] ?? code.split('-')[0] ?? code;
}

interface SpeakingSkill {
  lang?: string | undefined;
  voice?: string | undefined;
}

/** What a skill speaks: its `lang`, else the language of its voice, else that of the service. A code such as `pt`, also of a language that has no file here. */
export function languageCodeOfSkill({ lang, voice }: SpeakingSkill, standard = 'en'): string {
  const letter = /^([a-z])[fm]_/.exec(voice ?? '')?.[1];
  return languageCode(lang ?? letter ?? standard);
}
