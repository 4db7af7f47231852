// Sessions of LiveKit Agents without its server: recordings-livekit.js FOLDER. Each POST plays one trial in a session of
// its own. LiveKit's own detectors with their defaults; a recogniser, a model and a voice that take no time. Its turn model is
// licensed for use inside LiveKit Agents only: it runs there, and what it says goes nowhere else.
import { createServer } from 'node:http';
import { text as bodyOf } from 'node:stream/consumers';
import { ReadableStream } from 'node:stream/web';
import { inference, initializeLogger, voice } from '@livekit/agents';
import { AudioFrame } from '@livekit/rtc-node';
import { playTrial, readTrials } from '../recordings/play.ts';
import { answerTo, levelOf, speechOf, spokenMs } from '../recordings/trial.ts';
import {
  drain,
  Input,
  localRunner,
  NoModel,
  NoSpeechToText,
  NoTextToSpeech,
  outputRate,
  transcriptOf,
} from './livekit-stubs.js';

const folder = process.argv[2];
const trials = readTrials(folder);
const tickMs = 10;
const frameMs = 100;
initializeLogger({ pretty: false, level: 'error' });

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
    if (text !== '') this.transcripts?.enqueue(transcriptOf(text, isFinal));
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
    stt: new NoSpeechToText({ interimResults: true }),
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
