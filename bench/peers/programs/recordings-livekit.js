// Sessions of LiveKit Agents without its server: recordings-livekit.js FOLDER. Each POST plays one trial in a session of
// its own. LiveKit's own detectors with their defaults; a recogniser, a model and a voice that take no time. Its turn model is
// licensed for use inside LiveKit Agents only: it runs there, and what it says goes nowhere else.
import { createServer } from 'node:http';
import { text as bodyOf } from 'node:stream/consumers';
import { ReadableStream } from 'node:stream/web';
import { inference, initializeLogger, llm, stt, tts, voice } from '@livekit/agents';
import { AudioFrame } from '@livekit/rtc-node';
import { playTrial, readTrials } from '../recordings/play.ts';
import { answerTo, levelOf, speechOf, spokenMs } from '../recordings/trial.ts';

const folder = process.argv[2];
const trials = readTrials(folder);
const inputRate = 16_000;
const outputRate = 24_000;
const tickMs = 10;
const frameMs = 100;
initializeLogger({ pretty: false, level: 'error' });

class Input extends voice.AudioInput {
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

/** A loudspeaker that plays in real time and can be paused, as that of a room. */
class Output extends voice.AudioOutput {
  #queue = [];
  #playedMs = 0;
  #isFlushed = false;
  #isPaused = false;

  constructor() {
    super(outputRate, undefined, { pause: true });
  }

  async captureFrame(frame) {
    await super.captureFrame(frame);
    this.#isFlushed = false;
    for (let left = (frame.samplesPerChannel / outputRate) * 1000; left > 0; left -= tickMs)
      this.#queue.push(frame.data[0]);
  }

  /** The level of the next 10 ms; undefined: silence. */
  play() {
    if (this.#isPaused || this.#queue.length === 0) return undefined;
    if (this.#playedMs === 0) this.onPlaybackStarted(Date.now());
    this.#playedMs += tickMs;
    const level = this.#queue.shift();
    this.#finish();
    return level;
  }

  pause() {
    super.pause();
    this.#isPaused = true;
  }

  resume() {
    super.resume();
    this.#isPaused = false;
  }

  flush() {
    super.flush();
    this.#isFlushed = true;
    this.#finish();
  }

  clearBuffer() {
    this.#queue = [];
    super.flush();
    this.#end(true);
  }

  #finish() {
    if (this.#isFlushed && this.#queue.length === 0) this.#end(false);
  }

  #end(interrupted) {
    const playbackPosition = this.#playedMs / 1000;
    this.#playedMs = 0;
    this.#isFlushed = false;
    while (this.pendingPlayoutSegments > 0) this.onPlaybackFinished({ playbackPosition, interrupted });
  }
}

/** The session asks for these to be there; the agent below answers in their place. */
class NoSpeechToText extends stt.STT {
  label = 'stub';
  constructor() {
    super({ streaming: true, interimResults: true });
  }
}
class NoModel extends llm.LLM {
  label() {
    return 'stub';
  }
}
class NoTextToSpeech extends tts.TTS {
  label = 'stub';
  constructor() {
    super(outputRate, 1, { streaming: true });
  }
}

class Instant extends voice.Agent {
  constructor(trial) {
    super({ instructions: 'You are measured.' });
    this.trial = trial;
  }

  async sttNode(audio) {
    void drain(audio);
    return new ReadableStream({
      start: (controller) => {
        this.transcripts = controller;
      },
    });
  }

  understand({ text }, isFinal) {
    if (text === '') return;
    const type = isFinal ? stt.SpeechEventType.FINAL_TRANSCRIPT : stt.SpeechEventType.INTERIM_TRANSCRIPT;
    const said = { text, language: 'en', startTime: 0, endTime: 0, confidence: 1 };
    this.transcripts?.enqueue({ type, alternatives: [said] });
  }

  async llmNode(context) {
    const turns = context.items.filter(({ type, role }) => type === 'message' && role === 'user').length;
    return ReadableStream.from([answerTo(this.trial, turns)]);
  }

  async ttsNode(text) {
    return ReadableStream.from(
      (async function* () {
        let all = '';
        for await (const part of text) all += part;
        const length = (outputRate * frameMs) / 1000;
        for (let left = spokenMs(all); left > 0; left -= frameMs)
          yield new AudioFrame(new Int16Array(length).fill(levelOf(all)), outputRate, 1, length);
      })(),
    );
  }
}

const executor = await localRunner();
const vad = new inference.VAD();
const server = createServer((request, response) => {
  bodyOf(request)
    .then((id) => play(trials.get(id)))
    .then(
      (outcome) => response.end(JSON.stringify(outcome)),
      (error) => {
        console.error(error);
        response.writeHead(500).end(error.message);
      },
    );
});
server.listen(0, '127.0.0.1', () => console.log(`http://127.0.0.1:${server.address().port}`));

async function play(trial) {
  if (trial === undefined) throw new Error('there is no such trial');
  const agent = new Instant(trial);
  const [input, output] = [new Input(), new Output()];
  const session = new voice.AgentSession({
    vad,
    stt: new NoSpeechToText(),
    llm: new NoModel(),
    tts: new NoTextToSpeech(),
    turnHandling: { turnDetection: new inference.TurnDetector({ executor }) },
  });
  session.input.audio = input;
  session.output.audio = output;
  await session.start({ agent });
  try {
    return await playTrial(folder, trial, {
      pass(samples) {
        input.hear(samples);
        const level = output.play();
        return level === undefined ? undefined : speechOf(level);
      },
      onTranscript: (transcript, isFinal) => agent.understand(transcript, isFinal),
    });
  } finally {
    await session.close();
  }
}

async function drain(audio) {
  for await (const _frame of audio);
}

/** What a worker of LiveKit has in a process of its own. */
async function localRunner() {
  const path = '../node_modules/@livekit/agents/dist/inference/eot/runner.js';
  const { default: Runner } = await import(new URL(path, import.meta.url).href);
  const runner = new Runner();
  await runner.initialize();
  return { doInference: (_method, data) => runner.run(data) };
}
