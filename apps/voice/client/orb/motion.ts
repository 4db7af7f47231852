// How an orb moves: states cross-fade, levels rise fast and fall slowly, and its clock has its own pace.

const ORB_STATES = ['idle', 'listening', 'thinking', 'speaking'] as const;
export type OrbState = (typeof ORB_STATES)[number];

const FADE_MS = 600;
const RISE_MS = 45;
const FALL_MS = 260;
/** Speed of the orb's clock. */
const PACE: Record<OrbState, number> = { idle: 0.3, listening: 0.7, thinking: 1.5, speaking: 1.1 };

export interface Moment {
  /** The orb's clock in seconds; it never jumps. */
  time: number;
  /** The share of each state, in the order of ORB_STATES; the sum is 1. */
  states: readonly [number, number, number, number];
  /** How loud the caller and the assistant are now, 0 to 1. */
  ear: number;
  voice: number;
}

export interface Levels {
  ear: number;
  voice: number;
}

export class Motion {
  #from: number[] = [1, 0, 0, 0];
  #shares: number[] = [1, 0, 0, 0];
  #state: OrbState = 'idle';
  #changedAt = Number.NEGATIVE_INFINITY;
  #now = 0;
  #time = 0;
  #ear = 0;
  #voice = 0;

  /** Fades into a state, from wherever a running fade is. */
  change(state: OrbState, now: number): void {
    if (state === this.#state) return;
    this.#from = this.#sharesAt(now);
    this.#state = state;
    this.#changedAt = now;
  }

  /** `now` in milliseconds. */
  advance(now: number, levels: Levels, speed: number): Moment {
    // No jump when the page comes back into view.
    const passed = Math.min(100, Math.max(0, now - this.#now));
    this.#now = now;
    this.#shares = this.#sharesAt(now);
    this.#ear = follow(this.#ear, levels.ear, passed);
    this.#voice = follow(this.#voice, levels.voice, passed);
    const pace = ORB_STATES.reduce((sum, state, index) => sum + PACE[state] * (this.#shares[index] ?? 0), 0);
    this.#time += (passed / 1000) * pace * speed;
    const [idle = 0, listening = 0, thinking = 0, speaking = 0] = this.#shares;
    return {
      time: this.#time,
      states: [idle, listening, thinking, speaking],
      ear: this.#ear,
      voice: this.#voice,
    };
  }

  /** Nothing fades and nobody is heard. */
  isCalm(now: number): boolean {
    return now - this.#changedAt > FADE_MS && this.#ear < 0.01 && this.#voice < 0.01;
  }

  /** Calm and outside a call: few frames are enough. */
  isAtRest(now: number): boolean {
    return this.#state === 'idle' && this.isCalm(now);
  }

  #sharesAt(now: number): number[] {
    const progress = Math.min(1, Math.max(0, (now - this.#changedAt) / FADE_MS));
    const eased = progress * progress * (3 - 2 * progress);
    return ORB_STATES.map((state, index) => {
      const before = this.#from[index] ?? 0;
      return before + ((state === this.#state ? 1 : 0) - before) * eased;
    });
  }
}

function follow(value: number, target: number, passed: number): number {
  const span = target > value ? RISE_MS : FALL_MS;
  return value + (target - value) * (1 - Math.exp(-passed / span));
}
