import { describe, expect, it } from 'vitest';
import { LatencyLog, TurnMarks } from './metrics.ts';

describe('the latency of turns', () => {
  it('is counted from the moment the caller fell silent, and each step once', () => {
    let now = 1000;
    const marks = new TurnMarks(() => now, 200);
    marks.note('transcript_ms');
    now = 1150.4;
    marks.note('end_of_utterance_ms');
    now = 1300;
    marks.note('transcript_ms');
    marks.note('first_token_ms', 1250);
    expect(marks.latency).toEqual({
      end_of_utterance_ms: 350,
      transcript_ms: 200,
      first_token_ms: 450,
      first_speech_ms: null,
      first_packet_ms: null,
    });
  });

  it('is summed up over the last two hundred', () => {
    const seen: number[] = [];
    const log = new LatencyLog(({ first_packet_ms: ms }) => seen.push(ms ?? 0));
    const empty = new TurnMarks(() => 0, 0).latency;
    expect(log.summary()).toEqual({ turns: 0, p50: empty, p95: empty });
    for (let ms = 1; ms <= 300; ms += 1) log.add({ ...empty, first_packet_ms: ms });
    const { turns, p50, p95 } = log.summary();
    expect([turns, p50.first_packet_ms, p95.first_packet_ms, p95.first_token_ms]).toEqual([
      200,
      200,
      290,
      null,
    ]);
    expect(seen).toHaveLength(300);
  });
});
