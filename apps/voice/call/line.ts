import type { AudioFrame } from '../speech/audio/frame.ts';

/** One caller's line, as the conversation knows it; the media side (WebRTC, or a test's caller) implements it. */
export interface Line {
  readonly id: string;
  /** What the client sent along when it connected, if anything. */
  readonly requestData?: unknown;
  /** What the microphone gives, about every 10 ms, at the rate each frame names. */
  onAudio(listener: (frame: AudioFrame) => void): void;
  readonly speaker: Speaker;
  /** Sends to the page over the data channel; until it opens some messages wait, and without one they are dropped. */
  send(message: LineMessage): void;
  onMessage(listener: (message: LineMessage) => void): void;
  /** Called once, when the caller is gone or `close` was called. */
  onClose(listener: (reason: string) => void): void;
  close(reason: string): void;
}

/** A message of the data channel, in the RTVI style. */
export interface LineMessage {
  type: string;
  id?: string;
  data?: unknown;
}

/** Paced output: what is queued is played at its own speed, and can be paused or thrown away at once. */
export interface Speaker {
  /** Queues samples of any length. */
  enqueue(frame: AudioFrame): void;
  /** Milliseconds that were really sent since the line opened. */
  readonly playedMs: number;
  /** Milliseconds that wait. */
  readonly queuedMs: number;
  readonly paused: boolean;
  pause(): void;
  resume(): void;
  /** Throws away what waits. */
  clear(): void;
  /** Told when the last queued sample was sent. */
  onDrained(listener: () => void): void;
  /** Told when the first sample after silence was sent. */
  onStarted(listener: () => void): void;
}
