// A recording from the microphone as the service reads it, and sound that it answers with.
import { answerError } from '../../src/api/api.ts';

const SAMPLE_RATE = 16_000;
const SAY_MS = 60_000;

/** Plays a WAV file that the service makes of a text; resolves when it has been heard to the end. */
export async function playSample(
  body: { text: string; voice: string; lang: string },
  signal: AbortSignal,
): Promise<void> {
  const response = await fetch('/operator/setup/speech/say', {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(body),
    signal: AbortSignal.any([signal, AbortSignal.timeout(SAY_MS)]),
  });
  if (!response.ok) throw answerError(response.status, await response.json().catch(() => undefined));
  const address = URL.createObjectURL(await response.blob());
  const audio = new Audio(address);
  try {
    const ended = new Promise<void>((resolve, reject) => {
      audio.addEventListener('ended', () => resolve());
      audio.addEventListener('error', () => reject(new Error('This browser cannot play the sound.')));
      signal.addEventListener('abort', () => resolve());
    });
    await audio.play();
    await ended;
  } finally {
    audio.pause();
    URL.revokeObjectURL(address);
  }
}

export interface Recording {
  /** Ends it and gives a WAV file. */
  stop(): Promise<Blob>;
}

export async function startRecording(): Promise<Recording> {
  const stream = await openMicrophone();
  const recorder = new MediaRecorder(stream);
  const pieces: Blob[] = [];
  recorder.addEventListener('dataavailable', ({ data }) => pieces.push(data));
  recorder.start();
  return {
    async stop() {
      const ended = new Promise((resolve) => recorder.addEventListener('stop', resolve));
      if (recorder.state !== 'inactive') recorder.stop();
      await ended;
      for (const track of stream.getTracks()) track.stop();
      return toWav(new Blob(pieces));
    },
  };
}

async function openMicrophone(): Promise<MediaStream> {
  if (navigator.mediaDevices === undefined)
    throw new Error(
      'Browsers open the microphone only over https, or on the machine itself. Open this page as http://127.0.0.1 there.',
    );
  try {
    return await navigator.mediaDevices.getUserMedia({ audio: true });
  } catch (error) {
    const refused = error instanceof DOMException && error.name === 'NotAllowedError';
    throw new Error(
      refused
        ? 'The browser was not allowed to use the microphone. Allow it in the address bar.'
        : 'No microphone was found. Connect one and try again.',
      { cause: error },
    );
  }
}

/** 16-bit mono, as browsers' own recordings are in formats that the service does not read. */
async function toWav(recorded: Blob): Promise<Blob> {
  const context = new AudioContext();
  const sound = await context
    .decodeAudioData(await recorded.arrayBuffer())
    .finally(() => void context.close());
  const offline = new OfflineAudioContext(1, Math.ceil(sound.duration * SAMPLE_RATE), SAMPLE_RATE);
  const source = new AudioBufferSourceNode(offline, { buffer: sound });
  source.connect(offline.destination);
  source.start();
  const samples = (await offline.startRendering()).getChannelData(0);
  const view = new DataView(new ArrayBuffer(44 + samples.length * 2));
  const text = (at: number, letters: string) => {
    for (const [index, letter] of [...letters].entries()) view.setUint8(at + index, letter.charCodeAt(0));
  };
  text(0, 'RIFF');
  view.setUint32(4, 36 + samples.length * 2, true);
  text(8, 'WAVEfmt ');
  view.setUint32(16, 16, true);
  view.setUint16(20, 1, true);
  view.setUint16(22, 1, true);
  view.setUint32(24, SAMPLE_RATE, true);
  view.setUint32(28, SAMPLE_RATE * 2, true);
  view.setUint16(32, 2, true);
  view.setUint16(34, 16, true);
  text(36, 'data');
  view.setUint32(40, samples.length * 2, true);
  for (const [index, sample] of samples.entries())
    view.setInt16(44 + index * 2, Math.max(-1, Math.min(1, sample)) * 32_767, true);
  return new Blob([view.buffer], { type: 'audio/wav' });
}
