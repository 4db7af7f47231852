import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describeWithBrowser, launchBrowser, temporaryDirectory, waitFor } from '@trunkline/testing';
import { expect, it, onTestFinished } from 'vitest';
import { encodeWav } from '../speech/audio/wav.ts';
import { pitch, startLines, tone } from './lines.suite.ts';

/** What the page keeps for the test to look at. */
interface PageCall {
  connection: RTCPeerConnection;
  received: string[];
  send(text: string): void;
  /** The loudest frequency that is heard; 0 in silence. */
  hertz(): number;
}

describeWithBrowser('a call from Chromium', () => {
  it('carries sound both ways and messages, as the contract has clients connect [V097] [V098] [V099]', async () => {
    const { voice, line, lines } = await startLines();
    const page = await openPage(voice.url, 440);
    const id = await page.evaluate(connect);
    const opened = await line();
    expect(opened.id).toBe(id);
    await waitFor(() => Math.abs(pitch(opened.heard) - 440) < 20);
    expect(opened.heard.at(-1)?.sampleRate).toBe(48_000);

    opened.speaker.enqueue(tone(900, 24_000, 60));
    const hears = (low: number, high: number) =>
      page.waitForFunction(
        ([from, to]) => {
          const { call } = globalThis as unknown as { call: PageCall };
          const hertz = call.hertz();
          return hertz >= (from as number) && hertz <= (to as number);
        },
        [low, high],
      );
    await hears(850, 950);
    opened.speaker.clear();
    await hears(0, 0);

    await page.evaluate(() => {
      const { call } = globalThis as unknown as { call: PageCall };
      call.send(JSON.stringify({ label: 'rtvi-ai', type: 'client-ready', id: '1' }));
    });
    await waitFor(() => opened.told.length > 0);
    opened.send({ type: 'bot-ready', id: '1' });
    await page.waitForFunction(() =>
      (globalThis as unknown as { call: PageCall }).call.received.some((text) => text.includes('bot-ready')),
    );
    expect(await page.evaluate(codecs)).toEqual(['audio/opus', 'audio/opus']);

    await page.close();
    await waitFor(() => opened.ended);
    expect(lines.length).toBe(1);
  });
});

async function openPage(url: string, hertz: number) {
  const { path, remove } = temporaryDirectory();
  onTestFinished(remove);
  const fakeMicrophone = join(path, 'microphone.wav');
  const { samples, sampleRate } = tone(hertz, 48_000, 10);
  writeFileSync(fakeMicrophone, encodeWav(new Uint8Array(samples.buffer), sampleRate));
  const browser = await launchBrowser({
    fakeMicrophone,
    args: ['--autoplay-policy=no-user-gesture-required'],
  });
  onTestFinished(() => browser.close());
  const { page } = await browser.open('about:blank');
  // A bare page of the service's own origin.
  const caller = `${url}/caller`;
  await page.route(caller, (route) => route.fulfill({ contentType: 'text/html', body: '<!doctype html>' }));
  await page.goto(caller);
  return page;
}

/** Runs in the page: audio and video lines, no data channel of its own, candidates sent after the answer. */
async function connect(): Promise<string> {
  const settings = { alwaysNegotiateDataChannels: true } as RTCConfiguration;
  const connection = new RTCPeerConnection(settings);
  if (!('alwaysNegotiateDataChannels' in connection.getConfiguration()))
    connection.createDataChannel('_', { negotiated: true, id: 1023 });
  const quiet = { echoCancellation: false, noiseSuppression: false, autoGainControl: false };
  const microphone = await navigator.mediaDevices.getUserMedia({ audio: quiet });
  const [track] = microphone.getAudioTracks();
  const { receiver } = connection.addTransceiver(track as MediaStreamTrack, { direction: 'sendrecv' });
  connection.addTransceiver('video', { direction: 'sendrecv' });

  const received: string[] = [];
  let channel: RTCDataChannel | undefined;
  connection.addEventListener('datachannel', (event) => {
    channel = event.channel;
    channel.addEventListener('message', ({ data }) => received.push(String(data)));
  });
  const early: RTCIceCandidate[] = [];
  connection.addEventListener('icecandidate', ({ candidate }) => candidate && early.push(candidate));
  await connection.setLocalDescription();
  const ask = async (method: string, body: object) => {
    const headers = { 'content-type': 'application/json' };
    const response = await fetch('/api/offer', { method, headers, body: JSON.stringify(body) });
    return await response.json();
  };
  const { sdp, type } = connection.localDescription as RTCSessionDescription;
  const answer = await ask('POST', { sdp, type });
  await connection.setRemoteDescription({ type: 'answer', sdp: answer.sdp });
  while (connection.iceGatheringState !== 'complete')
    await new Promise((resolve) => {
      setTimeout(resolve, 20);
    });
  const candidates = early.map(({ candidate, sdpMid, sdpMLineIndex }) => ({
    candidate,
    sdp_mid: sdpMid,
    sdp_mline_index: sdpMLineIndex,
  }));
  await ask('PATCH', { pc_id: answer.pc_id, candidates });

  const audio = new AudioContext();
  // Without an element that plays it Chromium does not decode the track.
  const element = new Audio();
  element.srcObject = new MediaStream([receiver.track]);
  element.muted = true;
  await element.play();
  const analyser = audio.createAnalyser();
  analyser.fftSize = 4096;
  audio.createMediaStreamSource(element.srcObject).connect(analyser);
  const hertz = () => {
    const levels = new Float32Array(analyser.frequencyBinCount);
    analyser.getFloatFrequencyData(levels);
    const loudest = Math.max(...levels);
    return loudest < -60 ? 0 : (levels.indexOf(loudest) * audio.sampleRate) / analyser.fftSize;
  };
  const send = (text: string) => channel?.send(text);
  Object.assign(globalThis, { call: { connection, received, send, hertz } });
  return answer.pc_id;
}

/** Runs in the page: the codecs that are used, one for each way. */
async function codecs(): Promise<string[]> {
  const { call } = globalThis as unknown as { call: PageCall };
  const report = await call.connection.getStats();
  const entries: Record<string, string>[] = [];
  report.forEach((entry) => void entries.push(entry));
  const streams = entries.filter(
    ({ type, kind }) => /^(in|out)bound-rtp$/.test(type ?? '') && kind === 'audio',
  );
  return streams.map(({ codecId }) => entries.find(({ id }) => id === codecId)?.mimeType ?? 'none');
}
