import type { Logger } from '@trunkline/config';
import type { Clock } from '@trunkline/schedule';
import type { LatencyLog } from '../metrics/metrics.ts';
import type { SpeechParts } from '../speech/speech.ts';
import type { CallRecorder } from '../timeline/recorder.ts';
import type { Persona } from '../turn/persona.ts';
import type { Line } from './line.ts';
import type { Histories } from './replying/history.ts';
import type { ToolRuns } from './replying/tool-runs.ts';
import type { SpeechCache } from './speaking/speech-cache.ts';

export interface CallSettings {
  /** Do not listen while the bot speaks, nor for `echoGuardMs` after. */
  halfDuplex: boolean;
  echoGuardMs: number;
  /** How long a voice may take for the next sound. */
  speechTimeoutMs: number;
  /** Language of skills that name neither one nor a voice: a code or Kokoro's letter. */
  language?: string | undefined;
}

export interface CallComponents {
  line: Line;
  persona: Persona;
  speech: Omit<SpeechParts, 'transcriber' | 'chooseVoice' | 'describe' | 'close'>;
  /** Synthesizes phrases that come up again and again. */
  speechCache: SpeechCache;
  histories: Histories;
  runs: ToolRuns;
  latency: LatencyLog;
  settings: CallSettings;
  clock: Clock;
  logger: Logger;
  /** Keeps the timelines of calls; undefined if none are kept. */
  recorder?: CallRecorder | undefined;
}
