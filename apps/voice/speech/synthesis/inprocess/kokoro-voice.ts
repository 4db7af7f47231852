import type { Notices } from '../../notices.ts';
import type { WorkerHost } from '../../worker/host.ts';
import type { SpeechRequest, Synthesizer } from '../synthesizer.ts';
import { createLocalVoice } from './local-voice.ts';
import { defaultPreset, languages, presets } from './presets.ts';

interface KokoroVoiceOptions {
  host: WorkerHost;
  notices: Notices;
  /** For skills that name none. */
  voice: string;
  language: string;
}

/** Speaks by the Kokoro model; a skill's voice is one of its presets. */
export function createKokoroVoice({ host, notices, ...standard }: KokoroVoiceOptions): Synthesizer {
  const fallback = presets.includes(standard.voice) ? standard.voice : defaultPreset;
  const voiceOf = (wanted: string) => {
    if (presets.includes(wanted)) return wanted;
    const words = `The local voice has no preset ${wanted}; ${fallback} speaks instead.`;
    if (!wanted.startsWith('piper')) notices.tell(`preset ${wanted}`, words);
    return fallback;
  };
  const choose = ({ voice: wanted, lang }: SpeechRequest) => {
    const voice = voiceOf(wanted ?? standard.voice);
    const own = wanted === undefined ? standard.language : voice.slice(0, 1);
    return { voice, language: languageOf(lang ?? own, voice) };
  };
  return createLocalVoice({ backend: 'inprocess (Kokoro)', host, notices, choose });
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
