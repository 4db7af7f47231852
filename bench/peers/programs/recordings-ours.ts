// The conversation side of the voice service without its transport: recordings-ours.ts FOLDER. Each POST plays one trial
// in a call of its own. Our own detectors and end-of-turn model; a recogniser, a model and a voice that take no time.
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text as bodyOf } from 'node:stream/consumers';
import { steadyClock } from '../../../apps/voice/call/clock.ts';
import { openLocalVoices } from '../../../apps/voice/cases/harness/local-voices.suite.ts';
import { scriptedModel } from '../../../apps/voice/cases/harness/model.suite.ts';
import { openCall } from '../../voice-turn/talk.ts';
import { playTrial, readTrials } from '../recordings/play.ts';
import { answerTo, levelOf, speechOf, spokenMs, type Transcript, type Trial } from '../recordings/trial.ts';

const folder = process.argv[2] ?? '';
const trials = readTrials(folder);
const { speech } = (await openLocalVoices()).open();
const sampleRate = 16_000;
const frameMs = 100;

const server = createServer((request, response) => {
  bodyOf(request)
    .then((id) => play(trials.get(id)))
    .then(
      (outcome) => response.end(JSON.stringify(outcome)),
      (error: Error) => {
        console.error(error);
        response.writeHead(500).end(error.message);
      },
    );
});
server.listen(0, '127.0.0.1', () => {
  console.log(`http://127.0.0.1:${(server.address() as AddressInfo).port}`);
});

async function play(trial: Trial | undefined) {
  if (trial === undefined) throw new Error('there is no such trial');
  let understood: Transcript | undefined;
  const instant: typeof speech = {
    ...speech,
    recognizer: {
      ...speech.recognizer,
      recognize: async (_samples, { onContinuation }) => {
        onContinuation?.(understood?.continuation);
        return understood?.text ?? '';
      },
    },
    synthesizer: {
      ...speech.synthesizer,
      async *speak({ text }) {
        const level = levelOf(text);
        for (let left = spokenMs(text); left > 0; left -= frameMs) {
          const samples = new Int16Array((sampleRate * Math.min(left, frameMs)) / 1000).fill(level);
          yield { samples, sampleRate };
        }
      },
    },
  };
  const { model } = scriptedModel([{ text: answerTo(trial, 1), after: 0, every: 0 }], steadyClock);
  const { model: later } = scriptedModel([{ text: answerTo(trial, 2), after: 0, every: 0 }], steadyClock);
  let asked = 0;
  const answering: typeof model = {
    ...model,
    doStream: (options) => {
      asked = options.prompt.filter(({ role }) => role === 'user').length;
      return (asked > 1 ? later : model).doStream(options);
    },
  };
  const { caller, hangUp } = openCall(instant, answering, { id: trial.id });
  const { speaker } = caller;
  try {
    return await playTrial(folder, trial, {
      pass(samples) {
        const before = speaker.played.length;
        caller.say(samples);
        caller.pass();
        const level = speaker.played.length > before ? speaker.played.at(-1)?.samples[0] : undefined;
        return level === undefined ? undefined : speechOf(level);
      },
      onTranscript: (transcript) => {
        understood = transcript;
      },
    });
  } finally {
    await hangUp();
  }
}
