// A session of LiveKit Agents without its server: livekit.js SOUND. Each POST is one spoken question; the answer says how
// long after its end the first frame came. LiveKit's own detectors with their defaults, run by its own runner, and a
// recogniser, a model and a voice that take no time.
import { readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { ReadableStream } from 'node:stream/web';
import { setTimeout as delay } from 'node:timers/promises';
import { inference, initializeLogger, voice } from '@livekit/agents';
import { AudioFrame } from '@livekit/rtc-node';
import {
  drain,
  Input,
  inputRate,
  localRunner,
  NoModel,
  NoSpeechToText,
  NoTextToSpeech,
  outputRate,
  transcriptOf,
} from './livekit-stubs.js';

const frameMs = 20;
const frameSamples = (inputRate * frameMs) / 1000;
const bytes = readFileSync(process.argv[2]);
const question = new Int16Array(bytes.buffer, bytes.byteOffset, bytes.length / 2);
initializeLogger({ pretty: false, level: 'error' });

let spoken = () => undefined;
let sounded = () => undefined;

class Output extends voice.AudioOutput {
  length = 0;

  constructor() {
    super(outputRate, undefined, { pause: false });
  }

  async captureFrame(frame) {
    await super.captureFrame(frame);
    if (this.length === 0) {
      sounded();
      this.onPlaybackStarted(Date.now());
    }
    this.length += frame.samplesPerChannel / frame.sampleRate;
  }

  flush() {
    super.flush();
    if (this.length > 0) this.onPlaybackFinished({ playbackPosition: this.length, interrupted: false });
    this.length = 0;
  }

  clearBuffer() {
    this.flush();
  }
}

class Instant extends voice.Agent {
  async sttNode(audio) {
    void drain(audio);
    return new ReadableStream({
      start(controller) {
        spoken = () => controller.enqueue(transcriptOf('What is the capital of France?', true));
      },
    });
  }

  async llmNode() {
    return ReadableStream.from(['Paris.']);
  }

  async ttsNode(text) {
    return ReadableStream.from(
      (async function* () {
        for await (const _words of text);
        yield new AudioFrame(new Int16Array(2400), outputRate, 1, 2400);
      })(),
    );
  }
}

const input = new Input();
const turnDetection = new inference.TurnDetector({ executor: await localRunner() });
const session = new voice.AgentSession({
  vad: new inference.VAD(),
  stt: new NoSpeechToText({ interimResults: false }),
  llm: new NoModel(),
  tts: new NoTextToSpeech(),
  turnHandling: { turnDetection },
});
session.input.audio = input;
session.output.audio = new Output();
await session.start({ agent: new Instant({ instructions: 'You are measured.' }) });

const silence = new Int16Array(frameSamples);
let queue = [];
let ended = () => undefined;
void keepPace();
const server = createServer((_request, response) => {
  talk().then(
    (milliseconds) => response.end(JSON.stringify({ delay: milliseconds })),
    (error) => response.destroy(error),
  );
});
server.listen(0, '127.0.0.1', () => console.log(`http://127.0.0.1:${server.address().port}`));

async function talk() {
  await delay(700);
  const first = new Promise((resolve) => {
    sounded = () => resolve(performance.now());
  });
  const frames = [];
  for (let at = 0; at < question.length; at += frameSamples) {
    const frame = new Int16Array(frameSamples);
    frame.set(question.subarray(at, at + frameSamples));
    frames.push(frame);
  }
  const end = new Promise((resolve) => {
    ended = () => resolve(performance.now());
  });
  queue = frames;
  const endOfSpeech = await end;
  spoken();
  return (await first) - endOfSpeech;
}

/** 20 ms of sound every 20 ms; catches up when the timer was late. */
async function keepPace() {
  const began = performance.now();
  for (let passed = 0; ; passed += 1) {
    while (passed * frameMs > performance.now() - began) await delay(5);
    const frame = queue.shift();
    input.hear(frame ?? silence);
    if (frame !== undefined && queue.length === 0) ended();
  }
}
