import { waitFor } from '@trunkline/testing';
import { describe, it } from 'vitest';
import type { Line } from '../call/line.ts';
import { startVoice, type VoiceSetup } from '../voice.suite.ts';
import { dial } from './caller.suite.ts';

/** The service, with every line that opens collected instead of talked to. */
async function startLines(setup: VoiceSetup = {}) {
  const lines: Line[] = [];
  const converse = (line: Line) => void lines.push(line);
  const voice = await startVoice({ ...setup, substitutes: { converse, ...setup.substitutes } });
  return { voice, lines, line: () => waitFor(() => lines.at(-1)) };
}

const tone = (hertz: number, sampleRate: number, seconds: number) => ({
  samples: Int16Array.from({ length: sampleRate * seconds }, (_, index) =>
    Math.round(9000 * Math.sin((2 * Math.PI * hertz * index) / sampleRate)),
  ),
  sampleRate,
});

describe('a call', () => {
  it('carries sound both ways over Opus', async () => {
    const { voice, line } = await startLines();
    const caller = await dial(voice);
    const heard: { samples: Int16Array; sampleRate: number }[] = [];
    (await line()).onAudio((frame) => heard.push(frame));
    await waitFor(() =>
      heard.some(({ samples, sampleRate }) => sampleRate === 48_000 && Math.max(...samples) > 4000),
    );
    (await line()).speaker.enqueue(tone(600, 24_000, 1));
    await waitFor(() => Math.abs(caller.ear.hertz - 600) < 20);
  });
});
