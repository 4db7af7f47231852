import { describeWithBrowser, recordSound, startModelServer, waitFor } from '@trunkline/testing';
import { afterAll, expect, it, onTestFinished } from 'vitest';
import { captions, DESKTOP, orb, says, withBrowser } from '../client/client.suite.ts';
import type { AudioFrame } from '../speech/audio/samples.ts';
import { wordError } from '../speech/word-error.suite.ts';
import { startVoice } from '../voice.suite.ts';
import { hasLocalVoices, openLocalVoices } from './harness/local-voices.suite.ts';

const rate = 16_000;
const question = 'When does the museum open on Sundays?';
const answer =
  'The museum opens early in the morning, and it closes late in the evening on every day of the week.';

const installed = await hasLocalVoices();

describeWithBrowser('a call from a browser', () => {
  let voices: Awaited<ReturnType<typeof openLocalVoices>>;
  const { open } = withBrowser({
    microphone: async () => {
      voices = await openLocalVoices();
      return spoken(installed ? await voices.open().sounds.speech(question) : new Int16Array(rate));
    },
  });
  afterAll(() => voices.close());

  it.skipIf(!installed)(
    'is heard, answered with a tool, and the answer that the page received is understood [V001][V009]',
    { timeout: 240_000 },
    async () => {
      const model = await startModelServer({
        script: ({ messages }) =>
          messages.at(-1)?.role === 'tool'
            ? answer
            : { toolCalls: [{ name: 'current_time', arguments: {} }] },
      });
      onTestFinished(() => model.stop());
      const env = { TTS_BACKEND: 'inprocess', INPROC_VOICE: 'piper', LLM_URL: model.url, LLM_MODEL: 'test' };
      const voice = await startVoice({ env });
      const { page } = await open(voice.url, DESKTOP);
      const sound = await recordSound(page);
      await orb(page).click();
      await says(page, 'Listening');
      const said = (who: string) => captions(page).locator(`[data-who=${who}]`).allTextContents();
      await waitFor(async () => /week/.test((await said('assistant')).join(' ')), { timeoutMs: 120_000 });
      await waitFor(async () => Number((await voice.get('/api/metrics')).body.turn_latency?.turns) > 0, {
        timeoutMs: 60_000,
      });
      // The caption also shows what is still to be said: only the sound tells when all of it was heard. On a busy machine
      // it may pause between two sentences, while the page is still speaking.
      const speaking = page.getByRole('status').getByText('Speaking');
      await waitFor(async () => Number(await sound.quietMs()) > 2000 && (await speaking.count()) === 0, {
        timeoutMs: 60_000,
      });
      const heard = await voices.transcribe([await sound.samples()]);
      expect((await said('you')).join(' ')).toMatch(/museum/i);
      expect((await voice.get('/api/metrics')).body.tool_calls_by_name?.current_time).toBeGreaterThan(0);
      // Words that fill a pause may come before it.
      expect(
        wordError([answer], [heard.slice(heard.toLowerCase().indexOf('the museum'))]),
        heard,
      ).toBeLessThanOrEqual(0.1);
    },
  );
});

/** Silence while the call is made, the question, and silence for the answer. */
function spoken(samples: Int16Array): AudioFrame {
  const all = new Int16Array(rate * 34 + samples.length);
  all.set(samples, rate * 8);
  return { samples: all, sampleRate: rate };
}
