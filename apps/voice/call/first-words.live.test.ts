import { startModelServer, waitFor } from '@trunkline/testing';
import { describe, expect, it, onTestFinished } from 'vitest';
import { SyntheticCaller } from '../cases/harness/caller.suite.ts';
import { hasLocalVoices, openLocalVoices } from '../cases/harness/local-voices.suite.ts';
import { wordError } from '../speech/word-error.suite.ts';
import { defaultUser } from '../users/user.ts';
import { startVoice } from '../voice.suite.ts';
import { steadyClock } from './clock.ts';

const question = 'What is the capital of France?';
const installed = await hasLocalVoices();

describe.skipIf(!installed)('the first words of the first call', () => {
  it('are understood although the models are loaded only when it comes', async () => {
    const sound = await soundOf(question);
    const model = await startModelServer({ script: ['It is Paris.'] });
    onTestFinished(() => model.stop());
    const env = { TTS_BACKEND: 'inprocess', INPROC_VOICE: 'piper', LLM_URL: model.url, LLM_MODEL: 'any' };
    const { voice } = await startVoice({ env });
    const caller = new SyntheticCaller('line-1', steadyClock.now);
    voice.conversations.begin(caller, defaultUser);
    onTestFinished(() => caller.close('the test is over'));
    caller.say(sound);
    onTestFinished(keepPace(caller));
    await waitFor(() => finalText(caller), { timeoutMs: 90_000 });
    expect(wordError([question], [finalText(caller) ?? ''])).toBeLessThanOrEqual(0.2);
  });
});

/** The question in a caller's voice, by models that the service does not share. */
async function soundOf(text: string): Promise<Int16Array> {
  const voices = await openLocalVoices();
  onTestFinished(() => voices.close());
  return voices.open().sounds.speech(text);
}

function keepPace(caller: SyntheticCaller): () => void {
  const begun = performance.now();
  let passed = 0;
  const timer = setInterval(() => {
    for (; passed * 10 < performance.now() - begun; passed += 1) caller.pass();
  }, 10);
  return () => clearInterval(timer);
}

function finalText({ received }: SyntheticCaller): string | undefined {
  const data = received.map(({ message }) => message.data as { text: string; final?: boolean } | undefined);
  return data.find((entry) => entry?.final === true)?.text;
}
