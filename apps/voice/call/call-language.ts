import type { Logger } from '@trunkline/config';
import { type Language, languageCode, languageCodeOfSkill, languageOf } from '../languages/languages.ts';
import type { Persona } from '../turn/persona.ts';

export interface CallLanguageDeps {
  persona: Pick<Persona, 'skill' | 'user'>;
  /** Of the service, for those who name none: a code or Kokoro's letter. */
  standard?: string | undefined;
  /** Tells the language of a text, or undefined where it is not sure; left out where the recogniser knows one language. */
  detect?: ((text: string) => Promise<string | undefined>) | undefined;
  /** The call goes on in another language, a code such as `es`. */
  onChange(code: string, reason: string): void;
  logger: Logger;
}

/** A preset of Kokoro; its first letter is its language. */
const preset = /^[a-z][fm]_/;
/** One sentence may hold a foreign name or a quotation; so many in a row do not. */
const changesAfter = 2;

/**
 * What a call speaks: the language of the skill (its `lang`, or the language of its voice), else the user's, else the one
 * that is heard first, else the service's.
 */
export class CallLanguage {
  readonly #deps: CallLanguageDeps;
  /** The skill's, or the user's; a user's language does not change what a skill's own voice speaks. */
  readonly #named: string | undefined;
  /** What the call speaks until another language is heard. */
  readonly #initial: string;
  /** What is heard changes recognition alone. */
  readonly #isFixed: boolean;
  #heard: string | undefined;
  #other: { code: string; times: number } | undefined;

  constructor(deps: CallLanguageDeps) {
    const { skill, user } = deps.persona;
    const hasOwnVoice = preset.test(skill.voice ?? '');
    this.#deps = deps;
    this.#named = skill.lang ?? (hasOwnVoice ? undefined : user.language);
    this.#initial = languageCodeOfSkill({ ...skill, lang: this.#named }, deps.standard);
    this.#isFixed = this.#named !== undefined || hasOwnVoice;
  }

  /** A code such as `es`. */
  get code(): string {
    return this.#isFixed ? this.#initial : (this.#heard ?? this.#initial);
  }

  /** Phrases, and rules for what callers say. */
  get phrases(): Language {
    return languageOf(this.code);
  }

  /** What the voice is to read; undefined where that is left to it, which may know more than a code: British English. */
  get lang(): string | undefined {
    return this.#named ?? (this.code === this.#initial ? undefined : this.code);
  }

  /** What the caller is known to speak; undefined until somebody has said so or it was heard. */
  get spoken(): string | undefined {
    const named = this.#namedOfCaller;
    return named === undefined ? this.#heard : languageCode(named);
  }

  get #namedOfCaller(): string | undefined {
    const { skill, user } = this.#deps.persona;
    return skill.lang ?? user.language;
  }

  /** The recogniser has heard which language it is. */
  onHeard(code: string): void {
    if (this.#heard === undefined) this.#change(languageCode(code), 'by the sound');
  }

  /** The caller has said or written this. The words decide where the sound did not, and when the caller changes the language. */
  async onWords(text: string): Promise<void> {
    const { detect, logger } = this.#deps;
    if (this.#namedOfCaller !== undefined || detect === undefined) return;
    try {
      const code = await detect(text);
      if (code !== undefined) this.#onDetected(code);
    } catch (error) {
      logger.warn({ err: error }, 'failed to detect the language of a text');
    }
  }

  #onDetected(code: string): void {
    if (code === (this.#heard ?? this.#initial)) {
      this.#heard = code;
      this.#other = undefined;
      return;
    }
    const times = this.#other?.code === code ? this.#other.times + 1 : 1;
    this.#other = { code, times };
    if (this.#heard === undefined || times >= changesAfter) this.#change(code, 'by the words');
  }

  #change(code: string, reason: string): void {
    const before = this.code;
    this.#heard = code;
    this.#other = undefined;
    if (this.code !== before) this.#deps.onChange(code, reason);
  }
}
