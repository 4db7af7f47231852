import { errorMessage, type HeardSpeech, type SpeechSetup } from '@trunkline/std';
import { Mic, Square, Volume2 } from 'lucide-react';
import { useEffect, useRef, useState } from 'react';
import { useApi } from '../../src/api/ApiProvider.tsx';
import { answerError } from '../../src/api/api.ts';
import { Button } from '../../src/components/Button.tsx';
import { SelectField, TextField } from '../../src/components/Field.tsx';
import { Loaded, Panel } from '../../src/components/Panel.tsx';
import { useResource } from '../../src/hooks/useResource.ts';
import { Busy, Note, Trouble } from './parts.tsx';
import { StepFrame, useSettled, useSetup, useWork } from './setup.tsx';

const LONGEST_RECORDING_MS = 8_000;
const HEAR_MS = 60_000;
const PATH = '/operator/setup/speech';

/** A sentence in each language that the local voices speak, by the letter of the language. */
const SAMPLES: Readonly<Record<string, string>> = {
  a: 'Hello. This is how I sound when I answer you.',
  b: 'Hello. This is how I sound when I answer you.',
  e: 'Hola. Así sueno cuando te respondo.',
  f: "Bonjour. C'est ainsi que je parle quand je vous réponds.",
  h: 'नमस्ते। जब मैं जवाब देता हूँ तो ऐसा सुनाई देता हूँ।',
  i: 'Ciao. Ecco come parlo quando ti rispondo.',
  j: 'こんにちは。お答えするときはこんな声です。',
  p: 'Olá. É assim que eu falo quando respondo.',
  z: '你好。我回答你的时候就是这个声音。',
};

/** The voice that answers, heard before it is chosen, and a test of the microphone. */
export default function SpeechStep() {
  const resource = useResource<SpeechSetup>(PATH);
  return (
    <StepFrame
      title="Choose a voice"
      intro="Listen to a voice before you choose it, then test your microphone. The built-in voices run on this machine."
    >
      <Loaded resource={resource} failed="The voices could not be loaded.">
        {(speech) => <Voices speech={speech} />}
      </Loaded>
      <MicrophoneTest />
    </StepFrame>
  );
}

function Voices({ speech }: { speech: SpeechSetup }) {
  const api = useApi();
  const settled = useSettled();
  const { mark } = useSetup();
  const [language, setLanguage] = useState(speech.language);
  const [voice, setVoice] = useState(speech.voice);
  const [text, setText] = useState(SAMPLES[speech.language] ?? '');
  const listening = useWork<true>();
  const saving = useWork<true>();
  const offered = speech.voices.filter((one) => one.language === language);
  // A voice that is set by hand, such as piper:7, stands in no list.
  const isListed = offered.some(({ id }) => id === voice);
  const chooseLanguage = (id: string) => {
    setLanguage(id);
    setVoice(speech.voices.find((one) => one.language === id)?.id ?? voice);
    setText(SAMPLES[id] ?? text);
  };
  const hear = () =>
    listening.run(async (signal) => {
      await playSample({ text, voice, lang: language }, signal);
      return true;
    });
  const save = () =>
    saving.run(async () => {
      await api.request('/operator/settings', {
        method: 'PATCH',
        body: { INPROC_VOICE: voice, INPROC_LANG: language },
      });
      await settled<SpeechSetup>(PATH, (now) => now.voice === voice && now.language === language);
      await mark('done');
      return true;
    });
  return (
    <Panel title="Voice">
      <div className="flex flex-col gap-4">
        {speech.backend !== 'inprocess' && (
          <Note state="waiting" title={`TTS_BACKEND is ${speech.backend}`}>
            That backend speaks with a voice of its own. The voices here count where it fails, or once
            TTS_BACKEND is inprocess.
          </Note>
        )}
        <div className="grid gap-4 sm:grid-cols-2">
          <SelectField
            label="Language"
            value={language}
            options={speech.languages.map(({ id, title }) => ({ value: id, label: title }))}
            onChange={(event) => chooseLanguage(event.target.value)}
          />
          <SelectField
            label="Voice"
            value={voice}
            options={[
              ...(isListed ? [] : [{ value: voice, label: voice }]),
              ...offered.map(({ id, title }) => ({ value: id, label: title })),
            ]}
            onChange={(event) => setVoice(event.target.value)}
          />
        </div>
        {voice === 'auto' && (
          <p className="text-14 text-muted">
            {speech.choice?.reason ??
              'The machine measures its voices once and takes the best that is fast enough.'}
          </p>
        )}
        <TextField
          label="What it says"
          maxLength={300}
          value={text}
          onChange={(event) => setText(event.target.value)}
        />
        <div className="flex flex-wrap gap-2">
          {listening.busy ? (
            <Button icon={<Square aria-hidden />} onClick={listening.clear}>
              Stop
            </Button>
          ) : (
            <Button icon={<Volume2 aria-hidden />} disabled={text.trim() === ''} onClick={hear}>
              Hear it
            </Button>
          )}
          <Button variant="primary" busy={saving.busy} onClick={save}>
            Use this voice
          </Button>
        </div>
        {listening.busy && <Busy>Speaking; the first time, the voice is loaded</Busy>}
        <Trouble work={listening} what="The voice could not be heard." />
        {saving.busy && <Busy>Saving, and starting speech again</Busy>}
        <Trouble work={saving} what="The voice was not saved." />
        {saving.answer && <Note state="live" title="This voice answers from now on." />}
      </div>
    </Panel>
  );
}

function MicrophoneTest() {
  const api = useApi();
  const test = useWork<string>();
  const recording = useRef<Recording | undefined>(undefined);
  const [isRecording, setRecording] = useState(false);
  const [problem, setProblem] = useState<string>();
  const stop = () => {
    const ended = recording.current;
    recording.current = undefined;
    setRecording(false);
    if (ended === undefined) return;
    test.run(async (signal) => {
      const body = new FormData();
      body.append('audio', await ended.stop(), 'test.wav');
      const request = { body, signal, timeLimitMs: HEAR_MS };
      return (await api.request<HeardSpeech>(`${PATH}/hear`, request)).text;
    });
  };
  const start = async () => {
    test.clear();
    setProblem(undefined);
    try {
      recording.current = await startRecording();
      setRecording(true);
    } catch (error) {
      setProblem(errorMessage(error));
    }
  };
  // biome-ignore lint/correctness/useExhaustiveDependencies: only the start of a recording sets the time
  useEffect(() => {
    if (!isRecording) return;
    const timer = setTimeout(stop, LONGEST_RECORDING_MS);
    return () => clearTimeout(timer);
  }, [isRecording]);
  useEffect(() => () => void recording.current?.stop(), []);
  return (
    <Panel title="Microphone" detail="Say a sentence and see what is understood. The recording is not kept.">
      <div className="flex flex-col items-start gap-4">
        {isRecording ? (
          <Button variant="primary" icon={<Square aria-hidden />} onClick={stop}>
            Done speaking
          </Button>
        ) : (
          <Button icon={<Mic aria-hidden />} busy={test.busy} onClick={() => void start()}>
            Test the microphone
          </Button>
        )}
        {isRecording && <Busy>Listening</Busy>}
        {test.busy && <Busy>Working out what you said</Busy>}
        {problem && (
          <Note state="failed" title="The microphone cannot be used.">
            {problem}
          </Note>
        )}
        <Trouble work={test} what="Nothing could be understood." />
        {test.answer === '' && (
          <Note state="waiting" title="No speech was heard">
            Speak closer to the microphone, or choose another one in the browser.
          </Note>
        )}
        {test.answer && <Note state="live" title={`Understood: “${test.answer}”`} />}
      </div>
    </Panel>
  );
}

// A recording from the microphone as the service reads it, and sound that it answers with.

const SAMPLE_RATE = 16_000;
const SAY_MS = 60_000;

/** Plays a WAV file that the service makes of a text; resolves when it has been heard to the end. */
async function playSample(
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

interface Recording {
  /** Ends it and gives a WAV file. */
  stop(): Promise<Blob>;
}

async function startRecording(): Promise<Recording> {
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
