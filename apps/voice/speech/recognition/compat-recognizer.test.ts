import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { gzipSync } from 'node:zlib';
import { readOptions } from '@trunkline/config';
import { startSpeechServer } from '@trunkline/testing';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { voiceOptions } from '../../options.ts';
import { decodeWav } from '../audio/wav.ts';
import { createCompatRecognition } from '../backends/compat.ts';
import { loggerInto } from '../speech.suite.ts';
import { SpeechWarnings } from '../warnings.ts';
import { createGatedRecognizer } from './recognizer.ts';

/** Two seconds, of which the detector takes all or nothing for speech. */
const samples = new Float32Array(32_000).fill(0.25);

const warnings = () => new SpeechWarnings(loggerInto([]));

async function start(probability = 0.9, url?: string) {
  const server = await startSpeechServer({ transcript: ' Hello there. ' });
  onTestFinished(() => server.stop());
  const options = readOptions(voiceOptions, { env: { STT_URL: url ?? server.url, STT_API_KEY: 'secret' } });
  const { transcribe } = createCompatRecognition(options, warnings(), { live: 2000, file: 2000 });
  const recognizer = createGatedRecognizer({
    backend: 'compat',
    transcribe,
    scan: async () => Array.from({ length: 62 }, () => probability),
    close: async () => undefined,
  });
  return { server, hear: (signal?: AbortSignal) => recognizer.recognize(samples, { final: true, signal }) };
}

describe('recognition by an endpoint', () => {
  it('sends a WAV file of what was spoken', async () => {
    const { server, hear } = await start();
    expect(await hear()).toBe('Hello there.');
    const [request] = server.requests;
    expect(request).toMatchObject({
      path: '/v1/audio/transcriptions',
      authorization: 'Bearer secret',
      fields: { model: 'whisper-1' },
      file: { name: 'speech.wav' },
    });
    const { channels, sampleRate } = decodeWav(request?.file?.bytes ?? new Uint8Array());
    expect([sampleRate, channels[0]?.length]).toEqual([16_000, 32_000]);
    expect(channels[0]?.[100]).toBeCloseTo(0.25, 3);
  });

  it('says which language is spoken, where that is set; that of the skill before that of the service', async () => {
    const server = await startSpeechServer({ transcript: 'Guten Tag.' });
    onTestFinished(() => server.stop());
    const options = readOptions(voiceOptions, { env: { STT_URL: server.url, STT_LANGUAGE: 'de' } });
    await createCompatRecognition(options, warnings()).transcribe(samples, { final: true });
    expect(server.requests[0]?.fields).toEqual({ model: 'whisper-1', language: 'de' });
    await createCompatRecognition(options, warnings()).transcribe(samples, { final: true, language: 'fr' });
    expect(server.requests[1]?.fields).toEqual({ model: 'whisper-1', language: 'fr' });
  });

  it('sends no silence', async () => {
    const { server, hear } = await start(0.1);
    expect(await hear()).toBe('');
    expect(server.requests).toEqual([]);
  });

  it.each([
    [503, 'refused'],
    ['cut', 'unreachable'],
    ['stall', 'timeout'],
  ] as const)('fails with a code: %s', async (fault, code) => {
    const { server, hear } = await start();
    server.fault = fault;
    await expect(hear()).rejects.toMatchObject({ code });
  });

  it('is sent again where the connection is cut just then', async () => {
    let requests = 0;
    const server = createServer((request, response) => {
      requests += 1;
      if (requests === 2) return void request.socket.destroy();
      request
        .resume()
        .on('end', () => response.setHeader('content-type', 'application/json').end('{"text":"Hello."}'));
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    onTestFinished(() => void server.close());
    const { hear } = await start(0.9, `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`);
    expect([await hear(), await hear(), requests]).toEqual(['Hello.', 'Hello.', 3]);
  });

  it('reads no answer that unpacks to more than any transcript', async () => {
    const packed = gzipSync(JSON.stringify({ text: 'Hello.', rest: ' '.repeat(40 * 2 ** 20) }));
    const headers = { 'content-type': 'application/json', 'content-encoding': 'gzip' };
    const server = createServer((request, response) => {
      request.resume().on('end', () => response.writeHead(200, headers).end(packed));
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    onTestFinished(() => void server.close());
    const { hear } = await start(0.9, `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`);
    await expect(hear()).rejects.toMatchObject({
      code: 'unreadable',
      message: expect.stringContaining('larger than 16 MB'),
    });
  });

  it('is left when the caller is', async () => {
    const { server, hear } = await start();
    server.fault = 'stall';
    const controller = new AbortController();
    const hearing = hear(controller.signal);
    await vi.waitFor(() => expect(server.requests).toHaveLength(1));
    controller.abort(new Error('gone'));
    await expect(hearing).rejects.toThrow('gone');
    await vi.waitFor(() => expect(server.requests[0]?.abandoned).toBe(true));
  });
});
