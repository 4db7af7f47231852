import { availableParallelism } from 'node:os';
import { join } from 'node:path';
import { choice, group, text } from '@trunkline/config';
import { diagnoseEspeak } from '../synthesis/inprocess/kokoro/espeak.ts';
import { espeakVoices } from '../synthesis/inprocess/kokoro/phonemes.ts';
import { createLocalVoice, type UtteranceWork } from '../synthesis/inprocess/local-voice.ts';
import { automaticVoice, localVoices, VoiceChoice } from '../synthesis/inprocess/voice-choice.ts';
import type { SpeechRequest, Synthesizer } from '../synthesis/synthesizer.ts';
import type { SpeechWarnings } from '../warnings.ts';
import {
  defaultPreset,
  diagnoseWeights,
  languageLetters,
  languages,
  nativeVoice,
  presets,
} from '../weights.ts';
import type { WorkerHost } from '../worker/host.ts';
import { pinRuntime } from '../worker/thread.ts';
import { defineSpeechBackend } from './definition.ts';

/** Speaks with local models: Kokoro, and Piper, which is faster and plainer. */
export const inprocess = defineSpeechBackend({
  name: 'inprocess',
  options: group('Speech output', {
    inprocVoice: text({
      env: 'INPROC_VOICE',
      default: 'af_heart',
      doc: 'Voice on this machine: a Kokoro preset such as af_heart, or piper (piper:0 to piper:903), which is plainer and much faster on small machines. auto measures both once, when the machine is idle, and takes Kokoro if it is fast enough; npm start sets it.',
    }),
    inprocLang: choice({
      env: 'INPROC_LANG',
      values: languageLetters,
      default: 'a',
      doc: 'Language of the Kokoro voice: a American English, b British English, e Spanish, f French, h Hindi, i Italian, j Japanese, p Portuguese, z Chinese.',
    }),
  }),
  synthesis: {
    isRemote: false,
    isFallback: true,
    clonesVoices: false,
    create({ inprocVoice, inprocLang: language }, context) {
      const { directory, createHost, warnings, measureVoice: measure, isSteady } = context;
      const script = (path: string) => new URL(`../synthesis/inprocess/${path}`, import.meta.url);
      piperDirectory ??= join(directory, 'piper');
      const settings: PiperSettings = { directory: piperDirectory, isSteady };
      const kokoroHost = createHost('the Kokoro voice', script('kokoro/kokoro.worker.ts'), {
        // Each takes two cores.
        threads: Math.max(1, Math.floor(availableParallelism() / 2)),
        warmUp: [{ text: 'Hello.', voice: defaultPreset, language: 'a' } satisfies UtteranceWork],
        memoryBytes: kokoroMemoryBytes,
      });
      const piperHost = createHost('the Piper voice', script('piper/piper.worker.ts'), {
        settings,
        threads: availableParallelism(),
        warmUp: [{ text: 'Hello.', voice: String(defaultSpeaker), language: 'a' } satisfies UtteranceWork],
      });
      const [best, fast] = localVoices(language);
      const isAutomatic = inprocVoice === automaticVoice;
      const standard = { warnings, voice: isAutomatic ? best.voice : inprocVoice };
      const kokoro = createKokoroVoice({ ...standard, host: kokoroHost, language });
      const piper = createPiperVoice({ ...standard, host: piperHost, language });
      const choice = new VoiceChoice({
        voices: [
          {
            ...best,
            synthesizer: kokoro,
            memoryBytes: kokoroMemoryBytes,
            release: () => kokoroHost.release(),
          },
          { ...fast, synthesizer: piper, release: () => piperHost.release() },
        ],
        directory,
        measure,
      });
      const chosenFor = (lang: string) => (isEnglish(lang, best.voice) ? choice.voice : best.voice);
      return {
        synthesizers: [kokoro, piper],
        preferred: ({ voice = inprocVoice, lang = language }) =>
          isPiper(voice === automaticVoice ? chosenFor(lang) : voice) ? piper : kokoro,
        describe() {
          if (!isAutomatic)
            return { voice: inprocVoice, chosen_by: 'setting', reason: 'INPROC_VOICE names it.' };
          if (isEnglish(language, best.voice)) return choice.describe();
          const reason = `Kokoro is the only voice for ${languages[language]}.`;
          return { voice: best.voice, chosen_by: 'machine', reason };
        },
        async chooseVoice(signal, conditions) {
          if (isAutomatic && isEnglish(language, best.voice)) await choice.settle(signal, conditions);
        },
      };
    },
  },
  diagnose: async ({ inprocLang }, isChosen) => [
    await diagnoseWeights('voice'),
    ...(isChosen ? await diagnoseEspeak(inprocLang in espeakVoices) : []),
  ],
});

/** It takes 1.5 GB for a moment while it loads; the rest is for the services beside it. */
const kokoroMemoryBytes = 2 * 2 ** 30;

/** Piper speaks nothing else. */
function isEnglish(lang: string, preset: string): boolean {
  return ['a', 'b'].includes(languageOf(lang, preset));
}

/** Piper's runtime reads its dictionaries from the first directory it was given, until the process ends. */
let piperDirectory: string | undefined;

interface VoiceDeps {
  host: WorkerHost;
  warnings: SpeechWarnings;
  /** For skills that name none. */
  voice: string;
}

/** Speaks by the Kokoro model; a skill's voice is one of its presets. */
function createKokoroVoice(deps: VoiceDeps & { language: string }): Synthesizer {
  const { host, warnings, ...standard } = deps;
  const fallback = presets.includes(standard.voice) ? standard.voice : defaultPreset;
  const voiceOf = (wanted: string) => {
    if (presets.includes(wanted)) return wanted;
    if (wanted === automaticVoice) return fallback;
    const message = `The local voice has no preset ${wanted}; ${fallback} speaks instead.`;
    if (!wanted.startsWith('piper')) warnings.report(`preset ${wanted}`, message);
    return fallback;
  };
  const choose = ({ voice: wanted, lang }: SpeechRequest) => {
    const voice = voiceOf(wanted ?? standard.voice);
    const own = wanted === undefined ? standard.language : voice.slice(0, 1);
    const language = languageOf(lang ?? own, voice);
    return { voice: wanted === undefined ? nativeVoice(voice, language) : voice, language };
  };
  return createLocalVoice({ backend: 'inprocess (Kokoro)', host, warnings, choose, handsOver: true });
}

const codes: Readonly<Record<string, string>> = {
  'en-gb': 'b',
  en: 'a',
  es: 'e',
  fr: 'f',
  hi: 'h',
  it: 'i',
  ja: 'j',
  pt: 'p',
  zh: 'z',
};

/** A letter of the model, or a code such as en-GB or pt-BR; anything else is what the voice speaks. */
function languageOf(lang: string, voice: string): string {
  const code = lang.toLowerCase();
  if (code in languages) return code;
  return codes[code] ?? codes[code.split('-')[0] ?? ''] ?? voice.slice(0, 1);
}

export interface PiperSettings {
  /** Where the voice's files are unpacked. */
  directory: string;
  isSteady: boolean;
}

const speakers = 904;
/** The clearest by measurement. */
const defaultSpeaker = 79;
const pattern = /^piper(?::(\d{1,3}))?$/;

/** Speaks by Piper, six times as fast as Kokoro and plainer; a skill's voice is `piper` or `piper:<speaker>`. English only. */
function createPiperVoice(deps: VoiceDeps & { language: string }): Synthesizer {
  const { host, warnings, voice: standard, language } = deps;
  const fallback = speakerOf(standard) ?? defaultSpeaker;
  const choose = ({ voice: wanted }: SpeechRequest) => {
    const speaker = wanted === undefined ? fallback : speakerOf(wanted);
    if (speaker === undefined && isPiper(wanted))
      warnings.report(
        `piper ${wanted}`,
        `Piper has no voice ${wanted}: there are piper:0 to piper:${speakers - 1}.`,
      );
    return { voice: String(speaker ?? fallback), language: 'a' };
  };
  return createLocalVoice({
    backend: 'inprocess (Piper)',
    host,
    warnings,
    choose,
    // A skill that names a voice of Piper gets it whatever its language.
    speaks: ({ voice = standard, lang }) =>
      isPiper(voice) || isEnglish(lang ?? (presets.includes(voice) ? voice.slice(0, 1) : language), voice),
    prepare: () => pinRuntime('sherpa-onnx-node'),
  });
}

function isPiper(voice: string | undefined): boolean {
  return voice?.startsWith('piper') ?? false;
}

function speakerOf(voice: string): number | undefined {
  const match = pattern.exec(voice);
  if (match === null) return undefined;
  const speaker = Number(match[1] ?? defaultSpeaker);
  return speaker < speakers ? speaker : undefined;
}
