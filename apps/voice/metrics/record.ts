/** Counts what happens from the start of the process. */
export class Counters {
  readonly #bootAt = Date.now();
  readonly #toolCalls = new Map<string, number>();
  #sessions = 0;
  #inbound = 0;
  #clones = 0;
  #framesLate = 0;

  sessionOpened(): void {
    this.#sessions += 1;
  }

  inboundMessage(): void {
    this.#inbound += 1;
  }

  cloneMade(): void {
    this.#clones += 1;
  }

  framesLate(frames: number): void {
    this.#framesLate += frames;
  }

  toolCalled(name: string): void {
    this.#toolCalls.set(name, (this.#toolCalls.get(name) ?? 0) + 1);
  }

  /** The record that `GET /api/metrics` answers with. */
  record(sessionsActive: number) {
    const calls = [...this.#toolCalls.values()];
    return {
      boot_at: this.#bootAt / 1000,
      uptime_secs: Math.round((Date.now() - this.#bootAt) / 100) / 10,
      sessions_total: this.#sessions,
      sessions_active: sessionsActive,
      a2a_inbound_total: this.#inbound,
      tool_calls_total: calls.reduce((sum, count) => sum + count, 0),
      tool_calls_by_name: Object.fromEntries(this.#toolCalls),
      clone_requests_total: this.#clones,
      audio_frames_late_total: this.#framesLate,
    };
  }
}
