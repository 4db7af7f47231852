import { readFileSync } from 'node:fs';
import { readOptions } from '@trunkline/config';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { parse } from 'yaml';
import { voiceOptions } from '../../../options.ts';
import { samplesOf } from '../../audio/samples.ts';
import { compat, createCompatRecognition } from '../../backends/compat.ts';
import { loggerInto } from '../../speech.suite.ts';
import { SpeechWarnings } from '../../warnings.ts';
import { createGatedRecognizer } from '../recognizer.ts';
import type { LiveLimits } from './live-connection.ts';
import { type Step, startLiveServer } from './live-server.suite.ts';

interface Traffic {
  name: string;
  limits?: Partial<LiveLimits>;
  refuses?: number;
  connections: { steps: Step[] }[];
  utterances: { parts: Part[]; warning?: string }[];
  /** Whole utterances that have to be sent. */
  whole?: number;
  /** What `/healthz` says in the end; default: nothing. */
  warning?: string;
}

/** A second of speech, and the final text of the utterance after it. */
interface Part {
  interim?: string;
  final: string;
  /** The connection breaks meanwhile. */
  isLost?: boolean;
  /** No connection is tried. */
  isRefused?: boolean;
  /** Nobody waits for the text. */
  isAbandoned?: boolean;
  /** Limit for the final text. */
  finishMs?: number;
}

/** Only a hang takes so long. */
const patient = { timeout: 60_000 };
const second = new Float32Array(16_000).fill(0.25);
const limits: LiveLimits = {
  connect: 60_000,
  finish: 60_000,
  quiet: 60_000,
  idle: 60_000,
  keepAlive: 60_000,
};

async function start(
  streaming: string,
  {
    limits: own = {},
    env = {},
    ...traffic
  }: Partial<Parameters<typeof startLiveServer>[0]> & {
    limits?: Partial<LiveLimits>;
    env?: Record<string, string>;
  } = {},
) {
  const server = await startLiveServer({ connections: [], ...traffic });
  onTestFinished(() => server.stop());
  const logged: string[] = [];
  const warnings = new SpeechWarnings(loggerInto(logged));
  const options = readOptions(voiceOptions, {
    env: { STT_URL: server.url, STT_API_KEY: 'secret-key', STT_STREAMING: streaming, ...env },
  });
  const allowed = { ...limits, ...own };
  const timeouts = { live: 60_000, file: 60_000, streaming: allowed };
  const recognition = createCompatRecognition(options, warnings, timeouts);
  const recognizer = createGatedRecognizer({
    backend: 'compat',
    ...recognition,
    scan: async (samples) => Array.from({ length: Math.floor(samples.length / 512) }, () => 0.9),
    close: async () => recognition.close?.(),
  });
  onTestFinished(() => recognizer.close());
  const listen = (signal: AbortSignal) => recognizer.listen?.({ caller: 'call', signal });
  return { server, warnings, recognizer, recognition, listen, logged, options, limits: allowed };
}

async function say(parts: readonly Part[], { server, recognizer, listen, limits: allowed }: Setup) {
  const controller = new AbortController();
  const { signal } = controller;
  const live = listen(signal);
  for (const [index, part] of parts.entries()) {
    allowed.finish = part.finishMs ?? limits.finish;
    expect(live === undefined).toBe(part.isRefused === true);
    live?.push(second);
    const { interim } = part;
    if (interim !== undefined) await vi.waitFor(() => expect(live?.transcript).toBe(interim), patient);
    if (part.isLost) await vi.waitFor(() => expect(live?.isHeard).toBe(false), patient);
    const samples = new Float32Array((index + 1) * second.length).fill(0.25);
    const before = server.received.length;
    const text = recognizer.recognize(samples, { final: true, signal, live });
    if (part.isAbandoned) {
      await vi.waitFor(() => expect(server.received.length).toBeGreaterThan(before), patient);
      controller.abort(new Error('nobody waits'));
      await expect(text).rejects.toThrow('nobody waits');
    } else expect(await text).toBe(part.final);
  }
  controller.abort();
}

type Setup = Awaited<ReturnType<typeof start>>;

it.each(['deepgram', 'realtime'])('leaves an endpoint (%s) that sends texts without an end', async (wire) => {
  const delta = { type: 'conversation.item.input_audio_transcription.delta', item_id: 'a' };
  const piece = 'and so on '.repeat(50_000);
  const send = Array.from({ length: 40 }, (_, index) =>
    wire === 'realtime'
      ? { ...delta, delta: piece }
      : {
          type: 'Results',
          start: index / 100,
          duration: 0.01,
          is_final: true,
          channel: { alternatives: [{ transcript: piece }] },
        },
  );
  const after = wire === 'realtime' ? 'input_audio_buffer.append' : 'audio';
  const setup = await start(wire, { connections: [{ steps: [{ after, send }] }] });
  await say([{ final: 'All of it.', isLost: true }], setup);
  expect(setup.warnings.texts.join()).toContain('texts without an end');
});

describe.each(['deepgram', 'realtime'])('traffic of %s', (wire) => {
  const { cases } = parse(readFileSync(new URL(`./fixtures/${wire}.yaml`, import.meta.url), 'utf8')) as {
    cases: Traffic[];
  };

  it.each(cases)('$name', async ({ utterances, whole = 0, warning, ...traffic }) => {
    const setup = await start(wire, traffic);
    for (const utterance of utterances) {
      await say(utterance.parts, setup);
      if (utterance.warning) expect(setup.warnings.texts.join()).toMatch(new RegExp(utterance.warning));
    }
    expect(setup.server.whole).toHaveLength(whole);
    const told = setup.warnings.texts.join('\n');
    if (warning === undefined) expect(told).toBe('');
    else expect(told).toMatch(new RegExp(warning));
    expect(JSON.stringify([setup.logged, told])).not.toContain('secret-key');
    // Node's WebSocket asks twice where the answer is 401; the second utterance does not ask at all.
    const attempts = traffic.refuses === undefined ? traffic.connections.length : 2;
    expect(setup.server.asked, JSON.stringify(setup.server.asked)).toHaveLength(attempts);
  });
});

describe('live recognition', () => {
  const answer = (transcript: string) => ({
    type: 'Results',
    start: 0,
    duration: 1,
    is_final: true,
    from_finalize: true,
    channel: { alternatives: [{ transcript }] },
  });
  const answers = [{ steps: [{ after: 'Finalize', send: [answer('Hello.')] }] }];

  it('asks Deepgram for the model and language, sends samples, and says goodbye when nobody speaks', async () => {
    const setup = await start('deepgram', {
      connections: answers,
      limits: { idle: 1, keepAlive: 20 },
      env: { STT_MODEL: 'nova-3', STT_LANGUAGE: 'de' },
    });
    const { server } = setup;
    const types = () => server.received.map(({ type }) => type);
    const controller = new AbortController();
    setup.listen(controller.signal)?.push(second);
    await vi.waitFor(() => expect(types()).toContain('KeepAlive'), patient);
    controller.abort();
    await vi.waitFor(() => expect(types()).toContain('CloseStream'), patient);
    const [asked] = server.asked;
    expect(asked?.authorization).toBe('Token secret-key');
    const query = Object.fromEntries(new URL(asked?.path ?? '', server.url).searchParams);
    expect(query).toMatchObject({ model: 'nova-3', language: 'de', interim_results: 'true', channels: '1' });
    expect(query).toMatchObject({ encoding: 'linear16', sample_rate: '16000' });
    const sound = samplesOf(server.received.find(({ type }) => type === 'audio')?.bytes as Uint8Array);
    expect([sound.length, sound[100]]).toEqual([16_000, 8191]);
  });

  it('opens a transcription session of its own turns, with sound of 24 kHz', async () => {
    const setup = await start('realtime', { env: { STT_MODEL: 'gpt-live-transcribe' } });
    const { server, recognizer } = setup;
    const { signal } = new AbortController();
    recognizer.listen?.({ caller: 'call', language: 'pt', signal })?.push(second);
    await vi.waitFor(() => expect(server.received).toHaveLength(2), patient);
    expect(server.asked).toEqual([
      { path: '/v1/realtime?intent=transcription', authorization: 'Bearer secret-key' },
    ]);
    const [update, append] = server.received;
    expect(update).toEqual({
      type: 'session.update',
      session: {
        type: 'transcription',
        audio: {
          input: {
            format: { type: 'audio/pcm', rate: 24_000 },
            transcription: { model: 'gpt-live-transcribe', language: 'pt' },
            turn_detection: null,
          },
        },
      },
    });
    const sound = samplesOf(Buffer.from(String(append?.audio), 'base64'));
    expect(append?.type).toBe('input_audio_buffer.append');
    expect(Math.abs(sound.length - 24_000)).toBeLessThan(100);
    expect(sound[12_000]).toBeCloseTo(8191, -2);
  });

  it('tries one format after the other when asked to, and stays with the one that opened', async () => {
    const connections = [...answers, ...answers];
    const setup = await start('auto', { connections, path: '/v1/listen' });
    await say([{ final: 'Hello.' }], setup);
    await setup.recognizer.listen?.({ caller: 'other', signal: new AbortController().signal })?.finish();
    const paths = setup.server.asked.map(({ path }) => path.split('?')[0]);
    expect(paths).toEqual(['/v1/realtime', '/v1/listen', '/v1/listen']);
    await setup.recognition.transcribe(second, { final: true });
    expect(setup.server.whole).toEqual(['/v1/listen?punctuate=true']);
  });

  it('sends the whole utterance where a connection never opens', async () => {
    const setup = await start('realtime', { stalls: true, limits: { connect: 50 } });
    await say([{ isLost: true, final: 'All of it.' }], setup);
    expect(setup.warnings.texts.join()).toContain('does not open the connection in time; check STT_URL');
  });

  it.each([
    [{}, 'ok', 'opens a connection (deepgram)'],
    [{ refuses: 403 }, 'warning', 'refused the connection (403); check STT_API_KEY.'],
  ] as const)('is tried by the doctor: %j', async (traffic, state, words) => {
    const { options } = await start('deepgram', traffic);
    const found = await compat.diagnose?.(options, true);
    expect(found).toMatchObject([{ state, words: expect.stringContaining(words) }]);
    expect(await compat.diagnose?.(options, false)).toEqual([]);
  });

  it('has no connection unless STT_STREAMING asks for one', async () => {
    const setup = await start('off');
    expect(setup.recognizer.listen).toBeUndefined();
    await say([{ isRefused: true, final: 'All of it.' }], setup);
    expect(setup.server).toMatchObject({ asked: [], whole: ['/v1/audio/transcriptions'] });
  });
});
