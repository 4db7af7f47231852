import type { AskReason } from '@trunkline/loop';
import type { AudioFrame } from '../speech/audio/samples.ts';
import type { LoadingStatus } from './listening/audio-input.ts';
import type { Decision } from './turns/decisions.ts';

/** One caller's line: the port that WebRTC, or a test's caller, implements. */
export interface Line {
  readonly id: string;
  /** What the client sent along when it connected, if anything: its `timezone`, and whether it wants `decisions`. */
  readonly requestData?: unknown;
  /** Frames of the microphone, about every 10 ms. */
  onAudio(listener: (frame: AudioFrame) => void): void;
  readonly speaker: Speaker;
  /** Sends to the page over the data channel. Until it opens some messages wait; without one they are dropped. */
  send(message: LineMessage): void;
  onMessage(listener: (message: LineMessage) => void): void;
  /** Called once, when the caller is gone or `close` was called. */
  onClose(listener: (reason: string) => void): void;
  /** Last words get a moment to arrive before the line is cut. */
  close(reason: string, lastWords?: LineMessage): void;
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
  /** Plays softly from now on, or at full level again. */
  duck(isDucked: boolean): void;
  /** Called when the last queued sample was sent. */
  onDrained(listener: () => void): void;
  /** Called when the first sample after silence was sent. */
  onStarted(listener: () => void): void;
}

/** Messages to the page, in the RTVI style. */
export type Outgoing =
  | { type: 'bot-ready'; id?: string; data: { version: string; about: object } }
  | { type: 'user-started-speaking' | 'user-stopped-speaking' }
  | { type: 'user-transcription'; data: { text: string; final: boolean; timestamp: string; user_id: string } }
  | {
      type:
        | 'bot-llm-started'
        | 'bot-llm-stopped'
        | 'bot-started-speaking'
        | 'bot-stopped-speaking'
        | 'bot-interrupted';
    }
  | { type: 'bot-llm-text' | 'bot-tts-text'; data: { text: string } }
  | {
      type: 'llm-function-call-started';
      data: { tool_call_id: string; function_name: string; arguments: unknown };
    }
  | {
      type: 'llm-function-call-stopped';
      data: {
        tool_call_id: string;
        function_name: string;
        result: string;
        cancelled: boolean;
        held?: AskReason;
      };
    }
  | {
      type: 'server-message';
      data:
        | { type: LoadingStatus }
        | { type: 'note'; text: string }
        | { type: 'call-ended' | 'call-held' | 'call-resumed' }
        // Sound that has arrived and is not heard yet is cut off; it comes again with the rest.
        | { type: 'speech-paused' | 'speech-resumed' }
        // Sent to clients that ask for decisions.
        | ({ type: 'decision' } & Decision);
    }
  | { type: 'metrics'; data: object }
  | { type: 'error'; data: { message: string; fatal: boolean } };

/** Requests of the page. */
export type Incoming =
  | { type: 'client-ready'; id: string | undefined; isReconnect: boolean }
  | { type: 'send-text'; text: string; interrupts: boolean; spoken: boolean }
  | { type: 'resume-call' }
  | { type: 'disconnect-bot' };

const longestText = 8000;

/** Reads a message of the page; undefined for those that do not concern the conversation. */
export function readMessage({ type, id, data }: LineMessage): Incoming | undefined {
  if (type === 'client-ready') {
    const { reconnected } = fieldsOf(fieldsOf(data).about);
    return { type, id, isReconnect: reconnected === true };
  }
  if (type === 'disconnect-bot') return { type };
  if (type === 'client-message')
    return fieldsOf(data).t === 'resume-call' ? { type: 'resume-call' } : undefined;
  if (type !== 'send-text') return undefined;
  const { content, text, options } = fieldsOf(data);
  const words = [content, text].find((value) => typeof value === 'string' && value.trim() !== '');
  if (typeof words !== 'string') return undefined;
  const { run_immediately: immediately, audio_response: audio } = fieldsOf(options);
  return {
    type,
    text: words.trim().slice(0, longestText),
    interrupts: immediately !== false,
    spoken: audio !== false,
  };
}

/** The fields of something that the page sent; none where it is no object. */
export function fieldsOf(value: unknown): Record<string, unknown> {
  return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {};
}
