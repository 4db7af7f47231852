import { createRequire } from 'node:module';
import type { Notices } from '../../notices.ts';
import type { WorkerHost } from '../../worker/host.ts';
import type { SpeechRequest, Synthesizer } from '../synthesizer.ts';
import { createLocalVoice } from './local-voice.ts';

export interface PiperSettings {
  /** Where the files of the voice are unpacked. */
  directory: string;
}

interface PiperVoiceOptions {
  host: WorkerHost;
  notices: Notices;
  /** For skills that name none. */
  voice: string;
}

/** Speakers of the voice, counted from 0. */
const speakers = 904;
/** The clearest of those that were measured. */
const defaultSpeaker = 79;
const pattern = /^piper(?::(\d{1,3}))?$/;

/** Speaks by Piper, six times as fast as Kokoro and plainer; a skill's voice is `piper` or `piper:<speaker>`. English only. */
export function createPiperVoice({ host, notices, voice: standard }: PiperVoiceOptions): Synthesizer {
  const fallback = speakerOf(standard) ?? defaultSpeaker;
  const choose = ({ voice: wanted }: SpeechRequest) => {
    const speaker = wanted === undefined ? fallback : speakerOf(wanted);
    if (speaker === undefined && isPiper(wanted))
      notices.tell(
        `piper ${wanted}`,
        `Piper has no voice ${wanted}: there are piper:0 to piper:${speakers - 1}.`,
      );
    return { voice: String(speaker ?? fallback), language: 'a' };
  };
  return createLocalVoice({ backend: 'inprocess (Piper)', host, notices, choose, prepare: pinRuntime });
}

let isPinned = false;

/**
 * Loads the native runtime in this thread too. Where only a worker loads it, Linux on arm64 unloads it with that
 * worker, and no later worker of the process can load it again ("Module did not self-register").
 */
function pinRuntime(): void {
  if (isPinned) return;
  isPinned = true;
  try {
    createRequire(import.meta.url)('sherpa-onnx-node');
  } catch {
    // The worker fails in the same way and reports it, with what to do.
  }
}

/** Whether a voice is meant for Piper. */
export function isPiper(voice: string | undefined): boolean {
  return voice?.startsWith('piper') ?? false;
}

function speakerOf(voice: string): number | undefined {
  const match = pattern.exec(voice);
  if (match === null) return undefined;
  const speaker = Number(match[1] ?? defaultSpeaker);
  return speaker < speakers ? speaker : undefined;
}
