import type { Metrics } from '@trunkline/http';

/** Milliseconds since the caller stopped speaking; null if the turn did not get that far. */
export interface TurnLatency {
  end_of_utterance_ms: number | null;
  transcript_ms: number | null;
  first_token_ms: number | null;
  first_speech_ms: number | null;
  first_packet_ms: number | null;
}

type Mark = keyof TurnLatency;

const marks: readonly Mark[] = [
  'end_of_utterance_ms',
  'transcript_ms',
  'first_token_ms',
  'first_speech_ms',
  'first_packet_ms',
];

/** Records when the steps of one turn first happen. */
export class TurnMarks {
  readonly #now: () => number;
  readonly #start: number;
  readonly #marks = new Map<Mark, number>();

  /** `stoppedMsAgo`: how long the caller has been silent already. */
  constructor(now: () => number, stoppedMsAgo: number) {
    this.#now = now;
    this.#start = now() - stoppedMsAgo;
  }

  /** `at`: when it happened, if not now. */
  note(mark: Mark, at: number = this.#now()): void {
    if (!this.#marks.has(mark)) this.#marks.set(mark, Math.round(at - this.#start));
  }

  /** What happened came to nothing. */
  forget(mark: Mark): void {
    this.#marks.delete(mark);
  }

  /** The caller's turn is over; its transcript came then, or now. */
  noteEndOfTurn(transcribedAt: number | undefined): void {
    this.note('transcript_ms', transcribedAt);
    this.note('end_of_utterance_ms');
  }

  get latency(): TurnLatency {
    const entries = marks.map((mark) => [mark, this.#marks.get(mark) ?? null]);
    return Object.fromEntries(entries) as TurnLatency;
  }
}

const remembered = 200;

export class LatencyLog {
  readonly #turns: TurnLatency[] = [];
  readonly #onTurn: (turn: TurnLatency) => void;

  constructor(onTurn: (turn: TurnLatency) => void = () => undefined) {
    this.#onTurn = onTurn;
  }

  add(turn: TurnLatency): void {
    this.#turns.push(turn);
    if (this.#turns.length > remembered) this.#turns.shift();
    this.#onTurn(turn);
  }

  summary() {
    return { turns: this.#turns.length, p50: this.#percentile(0.5), p95: this.#percentile(0.95) };
  }

  #percentile(share: number): TurnLatency {
    const entries = marks.map((mark) => {
      const sorted = this.#turns.flatMap((turn) => turn[mark] ?? []).sort((left, right) => left - right);
      return [mark, sorted[Math.max(0, Math.ceil(sorted.length * share) - 1)] ?? null];
    });
    return Object.fromEntries(entries) as TurnLatency;
  }
}

/** Records the turns of calls, for `GET /api/metrics` and for Prometheus. */
export function createLatencyLog(metrics: Metrics): LatencyLog {
  const buckets = [0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.8, 1, 1.25, 1.5, 2, 3, 5, 10, 30];
  const help = 'Time from the end of speech to each step of the answer.';
  const seconds = metrics.histogram('turn_latency_seconds', help, ['step'], buckets);
  return new LatencyLog((turn) => {
    for (const [name, ms] of Object.entries(turn))
      if (ms !== null) seconds.observe({ step: name.replace(/_ms$/, '') }, ms / 1000);
  });
}

/** Counts since the start of the process. */
export class Counters {
  readonly #bootAt = Date.now();
  readonly #toolCalls = new Map<string, number>();
  sessions = 0;
  inboundMessages = 0;
  clones = 0;
  framesLate = 0;

  toolCalled(name: string): void {
    this.#toolCalls.set(name, (this.#toolCalls.get(name) ?? 0) + 1);
  }

  /** The record of `GET /api/metrics`. */
  record(sessionsActive: number) {
    const calls = [...this.#toolCalls.values()];
    return {
      boot_at: this.#bootAt / 1000,
      uptime_secs: Math.round((Date.now() - this.#bootAt) / 100) / 10,
      sessions_total: this.sessions,
      sessions_active: sessionsActive,
      a2a_inbound_total: this.inboundMessages,
      tool_calls_total: calls.reduce((sum, count) => sum + count, 0),
      tool_calls_by_name: Object.fromEntries(this.#toolCalls),
      clone_requests_total: this.clones,
      audio_frames_late_total: this.framesLate,
    };
  }
}
