// The conversation side of the voice service without its transport: voice-ours.ts SOUND. Each POST is one call with one
// spoken question; the answer says how long after its end the first packet came. Our own detector, and a recogniser, a
// model and a voice that take no time.
import { readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { steadyClock } from '../../../apps/voice/call/clock.ts';
import { openLocalVoices } from '../../../apps/voice/cases/harness/local-voices.suite.ts';
import { scriptedModel } from '../../../apps/voice/cases/harness/model.suite.ts';
import { talk } from '../../voice-turn/talk.ts';

const bytes = readFileSync(process.argv[2] ?? '');
const question = new Int16Array(bytes.buffer, bytes.byteOffset, bytes.length / 2);
const { speech } = (await openLocalVoices()).open();
const instant: typeof speech = {
  ...speech,
  recognizer: { ...speech.recognizer, recognize: async () => 'What is the capital of France?' },
  synthesizer: {
    ...speech.synthesizer,
    async *speak() {
      yield { samples: new Int16Array(1600), sampleRate: 16_000 };
    },
  },
};

const server = createServer((_request, response) => {
  const { model } = scriptedModel([{ text: 'Paris.', after: 0, every: 0 }], steadyClock);
  talk(instant, model, question, 1).then(
    ([turn]) => response.end(JSON.stringify({ delay: turn?.first_packet_ms })),
    (error: Error) => response.destroy(error),
  );
});
server.listen(0, '127.0.0.1', () => {
  console.log(`http://127.0.0.1:${(server.address() as AddressInfo).port}`);
});
