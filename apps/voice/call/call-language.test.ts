import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { Stage } from '../cases/harness/stage.suite.ts';
import { scriptedVoices } from '../cases/harness/voices.suite.ts';
import { createLanguageDetection } from '../speech/recognition/language/detection.ts';
import { loggerInto } from '../speech/speech.suite.ts';
import { SpeechError } from '../speech/speech-error.ts';
import { SpeechWarnings } from '../speech/warnings.ts';
import { type CreateHost, createHosts } from '../speech/worker/host.ts';
import { defaultUser } from '../users/user.ts';
import { CallLanguage } from './call-language.ts';

const drop = () => undefined;
const logger = { debug: drop, info: drop, warn: drop, error: drop, child: () => logger };

describe('the language of a call', () => {
  const open = (skill: { lang?: string; voice?: string } = {}, language?: string, standard = 'a') => {
    const changes: string[] = [];
    const said = { es: 'hola', en: 'hello', fr: 'bonjour' };
    const call = new CallLanguage({
      persona: { skill: { ...skill } as never, user: { ...defaultUser, language } },
      standard,
      detect: async (text) => Object.entries(said).find(([, word]) => text.includes(word))?.[0],
      onChange: (code) => changes.push(code),
      logger,
    });
    return { call, changes };
  };
  const known = ({ code, spoken, lang }: CallLanguage) => [code, spoken, lang];

  it.each([
    [{ lang: 'fr' }, 'es', ['fr', 'fr', 'fr']],
    [{}, 'pt-BR', ['pt', 'pt', 'pt-BR']],
    // The voice speaks its own language; the user is understood in theirs.
    [{ voice: 'if_sara' }, 'es', ['it', 'es', undefined]],
    [{ voice: 'if_sara' }, undefined, ['it', 'en', undefined]],
  ])(
    'is that of the skill %j, else of its voice, else of the user (%s)',
    async (skill, language, expected) => {
      const { call, changes } = open(skill, language);
      call.onHeard('en');
      await call.onWords('hello');
      await call.onWords('hello');
      expect(known(call)).toEqual(expected);
      expect(changes).toEqual([]);
    },
  );

  it("is the service's until it is heard, by the sound or by the words", async () => {
    const bySound = open();
    expect(known(bySound.call)).toEqual(['en', undefined, undefined]);
    bySound.call.onHeard('es');
    bySound.call.onHeard('fr');
    expect(known(bySound.call)).toEqual(['es', 'es', 'es']);
    const byWords = open();
    await byWords.call.onWords('mm');
    expect(byWords.call.spoken).toBeUndefined();
    await byWords.call.onWords('hola');
    expect(known(byWords.call)).toEqual(['es', 'es', 'es']);
    expect([bySound.changes, byWords.changes]).toEqual([['es'], ['es']]);
  });

  it('leaves the kind of English to the voice until another language is heard', async () => {
    const { call } = open({}, undefined, 'b');
    call.onHeard('en');
    await call.onWords('hello');
    expect(known(call)).toEqual(['en', 'en', undefined]);
    for (const text of ['hola', 'hola']) await call.onWords(text);
    expect(known(call)).toEqual(['es', 'es', 'es']);
    for (const text of ['hello', 'hello']) await call.onWords(text);
    expect(known(call)).toEqual(['en', 'en', undefined]);
  });

  it('is told to the recogniser as it is heard, whatever the voice of the skill speaks', async () => {
    const { call, changes } = open({ voice: 'af_heart' });
    await call.onWords('hola');
    expect(known(call)).toEqual(['en', 'es', undefined]);
    for (const text of ['bonjour', 'bonjour']) await call.onWords(text);
    expect(known(call)).toEqual(['en', 'fr', undefined]);
    expect(changes).toEqual([]);
  });

  it('changes when two sentences in a row are in another language, not for one', async () => {
    const { call, changes } = open({}, undefined, 'e');
    for (const text of ['hola', 'hello', 'hola', 'hello', 'bonjour']) await call.onWords(text);
    expect(changes).toEqual([]);
    await call.onWords('bonjour');
    expect(known(call)).toEqual(['fr', 'fr', 'fr']);
  });
});

describe('a call in a language that is heard', () => {
  it('goes on in it: recognition, voice, end of turn, fillers and what is asked again', async () => {
    const languages: (string | undefined)[] = [];
    const spoken: [text: string, lang: string | undefined][] = [];
    const judged: string[] = [];
    const loaded = Promise.withResolvers<void>();
    const openTurnDetector = async (language: string) => {
      // The model of the first language is late.
      if (language === 'en') await loaded.promise;
      const judge = async () => {
        judged.push(language);
        return 0.9;
      };
      return { judge };
    };
    const answers = [
      { to: 'museo', text: 'A las nueve.', after: 1500 },
      { to: 'domingo', text: 'También.' },
    ];
    const stage = new Stage({
      answers,
      voices: (clock) => {
        const voices = scriptedVoices(clock);
        const { recognizer, synthesizer } = voices.speech;
        const recognize: typeof recognizer.recognize = async (samples, options) => {
          languages.push(options.language);
          const text = await recognizer.recognize(samples, options);
          if (options.language === undefined && options.final) options.onLanguage?.('es');
          return text;
        };
        const speak: typeof synthesizer.speak = (request) => {
          spoken.push([request.text, request.lang]);
          return synthesizer.speak(request);
        };
        const speech = {
          ...voices.speech,
          openTurnDetector,
          recognizer: { ...recognizer, recognize },
          synthesizer: { ...synthesizer, speak },
        };
        return { ...voices, speech };
      },
    });
    await stage.call();
    await stage.say('A qué hora abre el museo?');
    await stage.until(() => stage.caller.events.some((event) => event.includes('"nueve."')));
    await stage.until(() => !stage.caller.speaker.sounding);
    loaded.resolve();
    await stage.say('Y el domingo?');
    await stage.until(() => spoken.some(([text]) => text === 'También.'));
    expect(new Set(judged)).toEqual(new Set(['es']));
    const first = languages.indexOf('es');
    expect(languages.slice(0, first)).toEqual(languages.slice(0, first).map(() => undefined));
    expect(languages.slice(first).every((language) => language === 'es')).toBe(true);
    // The acknowledgement came while the model thought; those in English were only prepared when the call began.
    const said = spoken.slice(spoken.findIndex(([, lang]) => lang === 'es'));
    expect(said[0]?.[0]).toMatch(/^(Vale|De acuerdo|Muy bien|Mm|Ajá|Bien|Claro)/);
    expect(said.every(([, lang]) => lang === 'es')).toBe(true);
    expect(stage.caller.events.some((event) => event.includes('"Okay."'))).toBe(false);
    await stage.close();
  });
});

describe('the detector', () => {
  /** The package is optional. */
  const isInstalled = existsSync(join(import.meta.dirname, '../../../node_modules/eld'));

  const open = (createHost: CreateHost) => {
    const logged: string[] = [];
    const warnings = new SpeechWarnings(loggerInto(logged));
    return { ...createLanguageDetection({ createHost, warnings }), warnings, logged };
  };

  it.skipIf(!isInstalled)('detects languages by a few words, and says nothing of one word', async () => {
    const { detect, close, logged } = open(createHosts(logger));
    const texts = {
      'What is the weather in Paris today?': 'en',
      'I live in Buenos Aires.': 'en',
      '¿A qué hora abre el museo?': 'es',
      'Je voudrais réserver une table': 'fr',
      'Vorrei prenotare un tavolo per due': 'it',
      'Eu queria reservar uma mesa': 'pt',
      'मुझे कल का मौसम बताओ': 'hi',
      'Wie wird das Wetter morgen?': 'de',
      今日の天気はどうですか: 'ja',
      Okay: undefined,
      'No, no.': undefined,
    };
    const told = await Promise.all(Object.keys(texts).map(detect));
    await close();
    expect([told, logged]).toEqual([Object.values(texts), []]);
  });

  it('that cannot be loaded is told of once, with what to do, until it works', async () => {
    let isThere = false;
    const ask = async () => {
      if (!isThere) throw new SpeechError('missing', 'run "npm ci"');
      return 'en';
    };
    const { detect, warnings, logged } = open(() => ({ ask, close: async () => undefined }) as never);
    expect([await detect('hello'), await detect('hello')]).toEqual([undefined, undefined]);
    const message = 'The language of a call is not told by its words: run "npm ci"';
    expect([warnings.texts, logged]).toEqual([[message], [message]]);
    isThere = true;
    expect(await detect('hello')).toBe('en');
    expect(warnings.texts).toEqual([]);
  });
});
