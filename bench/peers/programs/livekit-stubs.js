// What a session of LiveKit Agents needs to run without its server, a recogniser, a model and a voice.
import { ReadableStream } from 'node:stream/web';
import { llm, stt, tts, voice } from '@livekit/agents';
import { AudioFrame } from '@livekit/rtc-node';

export const inputRate = 16_000;
export const outputRate = 24_000;

export class Input extends voice.AudioInput {
  constructor() {
    super();
    this.multiStream.addInputStream(
      new ReadableStream({
        start: (controller) => {
          this.controller = controller;
        },
      }),
    );
  }

  hear(samples) {
    this.controller.enqueue(new AudioFrame(samples, inputRate, 1, samples.length));
  }
}

/** The session asks for these to be there; the agent answers in their place. */
export class NoSpeechToText extends stt.STT {
  label = 'stub';
  constructor({ interimResults }) {
    super({ streaming: true, interimResults });
  }
}
export class NoModel extends llm.LLM {
  label() {
    return 'stub';
  }
}
export class NoTextToSpeech extends tts.TTS {
  label = 'stub';
  constructor() {
    super(outputRate, 1, { streaming: true });
  }
}

export function transcriptOf(text, isFinal) {
  const type = isFinal ? stt.SpeechEventType.FINAL_TRANSCRIPT : stt.SpeechEventType.INTERIM_TRANSCRIPT;
  return { type, alternatives: [{ text, language: 'en', startTime: 0, endTime: 0, confidence: 1 }] };
}

export async function drain(audio) {
  for await (const _frame of audio);
}

/** Runs the turn model, which a worker of LiveKit has in a process of its own. */
export async function localRunner() {
  const path = '../node_modules/@livekit/agents/dist/inference/eot/runner.js';
  const { default: Runner } = await import(new URL(path, import.meta.url).href);
  const runner = new Runner();
  await runner.initialize();
  return { doInference: (_method, data) => runner.run(data) };
}
