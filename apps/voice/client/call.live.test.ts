import { describeWithBrowser, waitFor } from '@trunkline/testing';
import { describe, expect, it, vi } from 'vitest';
import { pitch, startLines, type TestLine, tone } from '../media/lines.suite.ts';
import type { AudioFrame } from '../speech/audio/samples.ts';
import {
  captions,
  DESKTOP,
  DEVICES,
  openDrawer,
  orb,
  ROSTER,
  says,
  startCall,
  withBrowser,
} from './client.suite.ts';

const TONE = 440;

// The headless build has the same engine and takes less processor time. In the browser that people have, sound is
// proven by spoken.live, media/call.live and the calls of soak.
vi.stubEnv('CHROMIUM_HEADLESS_SHELL', '1');

describeWithBrowser('a call from the page', () => {
  const { open } = withBrowser({ microphone: () => tone(TONE, 48_000, 10) });

  it.each(DEVICES)('connects, is heard, and hears, on %s', async (_name, device) => {
    const { voice, line } = await startLines();
    const { page, problems } = await open(voice.url, device);
    await page.getByRole('status').getByText('Tap to talk').waitFor();
    await startCall(page);
    const opened = await line();
    await hears(opened, TONE);
    // The service speaks: the page plays it, and the orb follows.
    opened.speaker.enqueue(tone(900, 24_000, 30));
    opened.send({ type: 'bot-started-speaking' });
    await says(page, 'Speaking');
    await page.getByRole('button', { name: 'End the call' }).click();
    await says(page, 'Tap to talk');
    await waitFor(() => opened.ended);
    expect(problems).toEqual([]);
  });

  it('offers audio and video both ways and a data line, and makes no channel of its own [V097] [V099]', async () => {
    const { voice, line } = await startLines();
    const { page } = await open(voice.url);
    const offer = page.waitForRequest(
      (request) => request.method() === 'POST' && request.url().endsWith('/api/offer'),
    );
    await page.evaluate(countChannels);
    await startCall(page);
    const { sdp, type } = (await offer).postDataJSON();
    expect(type).toBe('offer');
    const lines = sdp.split(/\r\n(?=m=)/).slice(1) as string[];
    expect(lines.map((text) => text.split(' ')[0])).toEqual(
      expect.arrayContaining(['m=audio', 'm=video', 'm=application']),
    );
    expect(lines.filter((text) => text.includes('a=sendrecv'))).toHaveLength(2);
    expect(await page.evaluate(() => Reflect.get(globalThis, 'channelsMade'))).toBe(0);
    // The channel that the service made carries both ways.
    const opened = await line();
    await waitFor(() => opened.told.some((message) => message.type === 'client-ready'));
    opened.send({ type: 'bot-llm-started' });
    await says(page, 'Thinking');
  });

  it('sends candidates only after the answer, the early ones too [V098]', async () => {
    const { voice, line } = await startLines();
    const { page } = await open(voice.url);
    const sent: string[] = [];
    let id = '';
    page.on('request', (request) => {
      if (!request.url().endsWith('/api/offer')) return;
      sent.push(request.method());
      if (request.method() === 'PATCH') id = request.postDataJSON().pc_id;
    });
    // Held back until the browser has found its candidates.
    await page.route('**/api/offer', async (route) => {
      if (route.request().method() !== 'POST') return route.continue();
      const response = await route.fetch();
      await waitFor(() => page.evaluate(() => Reflect.get(globalThis, 'candidatesFound') > 0));
      expect(sent).toEqual(['POST']);
      await route.fulfill({ response });
    });
    await page.evaluate(countCandidates);
    await startCall(page);
    const opened = await line();
    await waitFor(() => sent.includes('PATCH'));
    expect(id).toBe(opened.id);
  });

  it('shows captions of both sides and the tools between, as they come', async () => {
    const { voice, line } = await startLines();
    const { page } = await open(voice.url);
    await startCall(page);
    const { send } = talkOver(await line());
    const shown = captions(page);
    send('user-started-speaking');
    send('user-transcription', { text: 'what time', final: false });
    await shown.getByText('what time').waitFor();
    send('user-transcription', { text: 'What time is it?', final: true });
    send('user-stopped-speaking');
    await shown.getByText('What time is it?').waitFor();
    send('llm-function-call-started', {
      tool_call_id: '1',
      function_name: 'current_time',
      arguments: { zone: 'UTC' },
    });
    await says(page, 'Thinking');
    await page.getByText('Using current time.').waitFor();
    send('llm-function-call-stopped', {
      tool_call_id: '1',
      function_name: 'current_time',
      result: 'noon',
      cancelled: false,
    });
    send('bot-llm-text', { text: 'It is noon. Time for lunch.' });
    send('bot-started-speaking');
    send('bot-tts-text', { text: 'It is noon.' });
    await says(page, 'Speaking');
    const tool = shown.locator('[data-tool=current_time]');
    await tool.getByText('Done').waitFor();
    await tool.locator('summary').click();
    await tool.getByText('noon').waitFor();
    send('metrics', { turn: { first_packet_ms: 640 } });
    await page.getByText('640 ms').waitFor();
    send('bot-interrupted');
    await shown.getByText('(you broke in)').waitFor();
    expect(await shown.locator('[data-who]').allTextContents()).toEqual([
      'YouWhat time is it?',
      'AssistantIt is noon. (you broke in)',
    ]);
  });

  it('cuts off what it has as soon as the bot pauses, and plays what follows', async () => {
    const { voice, line } = await startLines();
    const { page } = await open(voice.url);
    await page.evaluate(holdPlayer);
    await startCall(page);
    const opened = await line();
    const { send } = talkOver(opened);
    const isCut = (cut: boolean) =>
      waitFor(async () => (await page.evaluate(() => Reflect.get(globalThis, 'player').muted)) === cut);
    send('bot-started-speaking');
    await says(page, 'Speaking');
    await isCut(false);
    send('server-message', { type: 'speech-paused' });
    await isCut(true);
    send('server-message', { type: 'speech-resumed' });
    await isCut(false);
    send('server-message', { type: 'speech-paused' });
    await isCut(true);
    send('bot-interrupted');
    send('bot-started-speaking');
    await isCut(false);
  });

  it('holds back no more of the sound than the network asks for', async () => {
    const { voice, line } = await startLines();
    const { page } = await open(voice.url);
    await page.evaluate(holdConnection);
    await startCall(page);
    await line();
    const targets = await page.evaluate(() => {
      const connection: RTCPeerConnection = Reflect.get(globalThis, 'connection');
      const sounds = connection.getReceivers().filter(({ track }) => track.kind === 'audio');
      return sounds.map(({ jitterBufferTarget }) => jitterBufferTarget);
    });
    expect(targets).toEqual([0]);
  });

  it('takes what is typed, with a microphone or without', async () => {
    const { voice, line, lines } = await startLines();
    const { page } = await open(voice.url);
    const write = async (text: string) => {
      await page.getByLabel('Message').fill(text);
      await page.keyboard.press('Enter');
    };
    // Nobody has started a call: the text starts one without the microphone.
    await write('Good morning');
    const silent = await line();
    const texts = (opened: TestLine) =>
      opened.told.filter(({ type }) => type === 'send-text').map(({ data }) => data);
    await waitFor(() => texts(silent).length > 0);
    expect(texts(silent)).toEqual([
      { content: 'Good morning', options: { run_immediately: true, audio_response: true } },
    ]);
    await captions(page).getByText('Good morning').waitFor();
    silent.send({ type: 'bot-stopped-speaking' });
    await says(page, 'Connected');
    await orb(page).click();
    await says(page, 'Listening');
    const spoken = await waitFor(() => lines[1]);
    await hears(spoken, TONE);
    await write('And now by hand');
    await waitFor(() => texts(spoken).length === 1);
  });

  it.each(DEVICES)('mutes and is heard again, on %s', async (_name, device) => {
    const { voice, line } = await startLines();
    const { page } = await open(voice.url, device);
    await startCall(page);
    const opened = await line();
    await hears(opened, TONE);
    await page.getByRole('button', { name: 'Mute', exact: true }).last().click();
    await says(page, 'You are muted');
    await hears(opened, 0);
    await orb(page).click();
    await says(page, 'Listening');
    await hears(opened, TONE);
  });

  it('starts, mutes and ends by the keyboard, and leaves Space to other controls', async () => {
    const { voice, line } = await startLines();
    const { page } = await open(voice.url, DESKTOP);
    await page.keyboard.press('Space');
    await says(page, 'Listening');
    await page.keyboard.press('m');
    await says(page, 'You are muted');
    await page.keyboard.press('Space');
    await says(page, 'Listening');
    await page.getByLabel('Message').focus();
    await page.keyboard.type('one two m e');
    expect(await page.getByLabel('Message').inputValue()).toBe('one two m e');
    await page.getByRole('button', { name: 'Push-to-talk is off' }).focus();
    await page.keyboard.press('Space');
    await says(page, 'Hold to talk');
    await page.keyboard.press('e');
    await says(page, 'Tap to talk');
    expect((await line()).ended).toBeDefined();
  });

  describe('with push-to-talk', () => {
    it.each(DEVICES)('is heard only while the orb is held, on %s', async (_name, device) => {
      const { voice, line } = await startLines();
      const { page } = await open(voice.url, device);
      await page.getByRole('button', { name: 'Push-to-talk is off' }).click();
      await startCall(page);
      await says(page, 'Hold to talk');
      const opened = await line();
      await waitFor(() => opened.heard.length > 50);
      await hears(opened, 0);
      await orb(page).dispatchEvent('pointerdown', { pointerId: 1, button: 0 });
      await says(page, 'Listening');
      await hears(opened, TONE);
      await orb(page).dispatchEvent('pointerup', { pointerId: 1, button: 0 });
      await says(page, 'Hold to talk');
      await hears(opened, 0);
    });

    it('sends what was said just before the button went down', async () => {
      const { voice, line } = await startLines();
      const { page } = await open(voice.url, DESKTOP);
      await page.evaluate(replaceMicrophone);
      await page.getByRole('button', { name: 'Push-to-talk is off' }).click();
      await orb(page).click();
      await says(page, 'Hold to talk');
      const opened = await line();
      await waitFor(() => opened.heard.length > 50);
      const from = opened.heard.length;
      // A word of 250 ms; the key goes down when 150 of them are over, and up soon after.
      await page.evaluate(speakThenPress, { word: 250, press: 150, release: 500 });
      await waitFor(() => loudMs(opened.heard.slice(from)) > 0);
      await hears(opened, 0);
      expect(loudMs(opened.heard.slice(from))).toBeGreaterThan(200);
    });
  });

  it('uses a new skill from the next call on, and the look of the orb with it', async () => {
    const { voice, line, lines } = await startLines({ files: ROSTER });
    const { page } = await open(voice.url, { ...DESKTOP, key: 'cleo-key' });
    await startCall(page);
    await line();
    const drawer = await openDrawer(page);
    await drawer.getByLabel('Skill').selectOption('chef');
    await drawer.getByText('This counts from the next call on.').waitFor();
    expect((await voice.get('/api/skills', 'cleo-key')).body.active).toBe('chef');
    const answering = page.getByRole('main').locator('header');
    await answering.getByText('Default').waitFor();
    expect(await page.locator('[data-orb]').getAttribute('data-orb')).toBe('fractal');
    await drawer.getByRole('button', { name: 'Start again now' }).click();
    await waitFor(() => lines.length === 2);
    await answering.getByText('Chef').waitFor();
    expect(await page.locator('[data-orb]').getAttribute('data-orb')).toBe('particles');
    await waitFor(() => lines[0]?.ended !== undefined);
  });
});

async function hears(line: TestLine, hertz: number): Promise<void> {
  await waitFor(() => line.heard.length > 20 && Math.abs(pitch(line.heard) - hertz) < 30);
}

function talkOver(line: TestLine) {
  return { send: (type: string, data?: object) => line.send({ type, ...(data && { data }) }) };
}

/** How long somebody spoke in what was heard. */
function loudMs(frames: readonly AudioFrame[]): number {
  const loud = frames.filter(
    ({ samples }) => samples.reduce((most, sample) => Math.max(most, sample), 0) > 1500,
  );
  return loud.reduce((sum, { samples, sampleRate }) => sum + (samples.length / sampleRate) * 1000, 0);
}

/** Runs in the page: counts the channels that it makes itself. */
function countChannels(): void {
  Reflect.set(globalThis, 'channelsMade', 0);
  const make = RTCPeerConnection.prototype.createDataChannel;
  RTCPeerConnection.prototype.createDataChannel = function (...given) {
    Reflect.set(globalThis, 'channelsMade', Number(Reflect.get(globalThis, 'channelsMade')) + 1);
    return make.apply(this, given);
  };
}

/** Runs in the page: holds what plays the bot's voice. */
function holdPlayer(): void {
  globalThis.Audio = class extends Audio {
    constructor() {
      super();
      Reflect.set(globalThis, 'player', this);
    }
  };
}

/** Runs in the page: holds the connection that it opens. */
function holdConnection(): void {
  const describe: () => Promise<void> = RTCPeerConnection.prototype.setLocalDescription;
  RTCPeerConnection.prototype.setLocalDescription = function () {
    Reflect.set(globalThis, 'connection', this);
    return describe.call(this);
  };
}

/** Runs in the page: counts the candidates that the browser finds. */
function countCandidates(): void {
  Reflect.set(globalThis, 'candidatesFound', 0);
  const describe: () => Promise<void> = RTCPeerConnection.prototype.setLocalDescription;
  RTCPeerConnection.prototype.setLocalDescription = function () {
    this.addEventListener('icecandidate', () =>
      Reflect.set(globalThis, 'candidatesFound', Number(Reflect.get(globalThis, 'candidatesFound')) + 1),
    );
    return describe.call(this);
  };
}

/** Runs in the page: a microphone that is silent until the test lets it speak. */
function replaceMicrophone(): void {
  const context = new AudioContext();
  const oscillator = new OscillatorNode(context, { frequency: 700 });
  const voice = new GainNode(context, { gain: 0 });
  const output = new MediaStreamAudioDestinationNode(context);
  oscillator.connect(voice).connect(output);
  oscillator.start();
  navigator.mediaDevices.getUserMedia = async () => output.stream;
  Reflect.set(globalThis, 'microphone', { context, voice });
}

/** Runs in the page: a word, and in the middle of it the talk key. */
async function speakThenPress(times: { word: number; press: number; release: number }): Promise<void> {
  const { context, voice } = Reflect.get(globalThis, 'microphone') as {
    context: AudioContext;
    voice: GainNode;
  };
  // Counted in sound, not by the clock.
  const at = (ms: number) =>
    new Promise((done) => {
      const mark = new ConstantSourceNode(context);
      mark.addEventListener('ended', done);
      mark.start();
      mark.stop(began + ms / 1000);
    });
  const began = context.currentTime;
  const key = (type: string) => window.dispatchEvent(new KeyboardEvent(type, { code: 'Space', key: ' ' }));
  voice.gain.setValueAtTime(0.5, began);
  voice.gain.setValueAtTime(0, began + times.word / 1000);
  await at(times.press);
  key('keydown');
  await at(times.press + times.release);
  key('keyup');
}
