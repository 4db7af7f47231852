import { createRequire } from 'node:module';
import { join } from 'node:path';
import type { Diagnosis } from '@trunkline/service';
import { serviceHome } from '@trunkline/storage';
import type { VoiceOptions } from '../options.ts';
import { allBackends } from './backends/registry.ts';
import { automaticVoice, recallChoice } from './synthesis/inprocess/voice-choice.ts';
import { diagnoseWeights, installAdvice } from './weights.ts';

/** Checks every speech backend, and the other models that calls need. */
export async function diagnoseSpeech(options: VoiceOptions): Promise<Diagnosis[]> {
  const backends = allBackends().map(async ({ name, diagnose }) => {
    const isChosen = name === options.sttBackend || name === options.ttsBackend;
    return (await diagnose?.(options, isChosen)) ?? [];
  });
  const models = (['voice activity', 'noise filter'] as const).map((purpose) => diagnoseWeights(purpose));
  return [
    ...(await Promise.all(backends)).flat(),
    ...diagnoseChoice(options),
    ...(await Promise.all(models)),
    diagnoseRuntimes(),
  ];
}

/** Which voice the machine has chosen, if the choice is its own. */
function diagnoseChoice(options: VoiceOptions): Diagnosis[] {
  const { ttsBackend, inprocVoice, inprocLang, sessionStoreDir, trunklineHome } = options;
  const isOpen = inprocVoice === automaticVoice && ['a', 'b'].includes(inprocLang);
  if (ttsBackend !== 'inprocess' || !isOpen) return [];
  const store = sessionStoreDir ?? serviceHome(trunklineHome, 'voice');
  const { reason } = recallChoice(join(store, 'speech'), inprocLang);
  const words = `${reason.replace(/\.?$/, '.')} INPROC_VOICE names another.`;
  return [{ subject: 'speech voice in use', state: 'ok', words }];
}

/** Packages that run the models, and what needs them. */
const runtimes: Readonly<Record<string, string>> = {
  'onnxruntime-node': 'recognition, voice activity and the Kokoro voice',
  phonemizer: 'the Kokoro voice',
  'sherpa-onnx-node': 'the Piper voice',
};

function diagnoseRuntimes(): Diagnosis {
  const subject = 'speech runtime';
  const missing = missingRuntimes();
  if (missing.length === 0)
    return { subject, state: 'ok', words: `${Object.keys(runtimes).join(', ')} installed.` };
  const words = missing.map((name) => `${name}, for ${runtimes[name]}`).join('; ');
  return { subject, state: 'warning', words: `not installed: ${words}.`, advice: installAdvice };
}

/** Resolves without loading, which only worker threads do. */
function missingRuntimes(): string[] {
  const { resolve } = createRequire(import.meta.url);
  return Object.keys(runtimes).filter((name) => {
    try {
      resolve(name);
      return false;
    } catch {
      return true;
    }
  });
}
