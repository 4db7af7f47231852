import { errorMessage } from '@trunkline/std';
import { Button, TextAreaField, TextField, useApi, useResource, useToast } from '@trunkline/ui';
import { AudioWaveform, ChevronRight, Circle, RotateCcw, Square } from 'lucide-react';
import { useEffect, useState } from 'react';
import type { VoiceReferences } from '../../api-types.ts';
import { ask } from '../account.ts';
import { useCallSettings } from '../call/sound.ts';
import { LONGEST_SECONDS, type RecorderHook, SHORTEST_SECONDS, useRecorder } from './useRecorder.ts';

const LONGEST_SLUG = 64;
const PASSAGE =
  'On clear evenings the lamps along the harbour come on one by one. I like to stand there for a while, count the boats, and listen to the ropes knock against the masts. Somebody always whistles. Then the last ferry leaves, and the water is quiet again.';

interface Cloned {
  slug: string;
  name: string;
  transcript: string;
  auto_transcribed: boolean;
}

const UPLOAD_LIMIT_MS = 240_000;

function CloneForm({ onCloned }: { onCloned(): void }) {
  const api = useApi();
  const toast = useToast();
  const [settings] = useCallSettings();
  const recorder = useRecorder(settings.microphoneId);
  const [file, setFile] = useState<File | undefined>(undefined);
  const [name, setName] = useState('');
  const [transcript, setTranscript] = useState('');
  const [description, setDescription] = useState('');
  const [busy, setBusy] = useState(false);
  const [failure, setFailure] = useState<string | undefined>(undefined);
  const audio = file ?? recorder.recording?.audio;
  const slug = slugOf(name);

  const upload = async () => {
    if (audio === undefined) return;
    setBusy(true);
    setFailure(undefined);
    try {
      const body = formOf(audio, { slug, name, transcript, description });
      const cloned = await ask<Cloned>(api, '/api/voice/clone', { body, timeLimitMs: UPLOAD_LIMIT_MS });
      toast({ title: `${cloned.name} can speak now.`, detail: 'Choose it as your skill.', state: 'live' });
      recorder.clear();
      setFile(undefined);
      setName('');
      onCloned();
    } catch (error) {
      setFailure(errorMessage(error));
    } finally {
      setBusy(false);
    }
  };

  return (
    <form
      className="flex flex-col gap-4"
      onSubmit={(event) => {
        event.preventDefault();
        void upload();
      }}
    >
      <RecordPanel recorder={recorder} />
      <FilePicker file={file} onChoose={setFile} />
      <TextField
        label="Name of the voice"
        value={name}
        onChange={({ target }) => setName(target.value)}
        hint={slug === '' ? 'At least two letters.' : `Saved as ${slug}.`}
      />
      <TextAreaField
        label="What is said in it"
        value={transcript}
        onChange={({ target }) => setTranscript(target.value)}
        hint="Leave it empty to have it written down for you."
      />
      <TextField
        label="Description"
        value={description}
        onChange={({ target }) => setDescription(target.value)}
      />
      {failure !== undefined && (
        <p role="alert" className="text-14 font-medium text-failed-text">
          {failure}
        </p>
      )}
      <Button type="submit" variant="primary" busy={busy} disabled={audio === undefined || slug.length < 2}>
        {busy ? 'Cloning' : 'Clone this voice'}
      </Button>
    </form>
  );
}

function FilePicker({ file, onChoose }: { file: File | undefined; onChoose(file: File | undefined): void }) {
  return (
    <label className="flex flex-col gap-1 text-14">
      <span className="font-medium">Or a file</span>
      <input
        type="file"
        accept=".wav,.mp3,.flac,.ogg,audio/*"
        onChange={({ target }) => onChoose(target.files?.[0])}
        className="text-12 text-muted file:mr-3 file:h-9 file:cursor-pointer file:rounded-corner file:border file:border-line-strong file:bg-raised file:px-3 file:text-14 file:text-ink"
      />
      {file !== undefined && (
        <span className="text-12 text-muted">This file is used instead of the recording.</span>
      )}
    </label>
  );
}

function formOf(audio: Blob, fields: Record<string, string>): FormData {
  const form = new FormData();
  form.set('audio', audio, audio instanceof File ? audio.name : 'recording.wav');
  for (const [field, value] of Object.entries(fields)) if (value.trim() !== '') form.set(field, value.trim());
  return form;
}

/** Clones a voice from a recording; collapsed at first. */
export function CloneSection({ onCloned }: { onCloned(): void }) {
  const [open, setOpen] = useState(false);
  return (
    <details
      className="group rounded-corner border border-line"
      open={open}
      onToggle={(event) => setOpen(event.currentTarget.open)}
    >
      <summary className="flex h-11 cursor-pointer list-none items-center gap-2 px-3 font-medium text-14 focus-visible:-outline-offset-2">
        <AudioWaveform aria-hidden className="size-4 text-muted" />
        Clone a voice
        <ChevronRight
          aria-hidden
          className="ml-auto size-4 text-muted transition-transform group-open:rotate-90"
        />
      </summary>
      {open && (
        <div className="border-line border-t p-3">
          <CloneContent onCloned={onCloned} />
        </div>
      )}
    </details>
  );
}

function CloneContent({ onCloned }: { onCloned(): void }) {
  const { body, error, reload } = useResource<VoiceReferences>('/api/voice/references');
  const done = () => {
    reload();
    onCloned();
  };
  if (error !== undefined) return <p className="text-14 text-failed-text">{error.message}</p>;
  if (body === undefined) return null;
  if (body.backend !== 'sidecar') {
    return (
      <p className="text-14 text-muted">
        The speech backend is {body.backend}, which cannot clone. Set TTS_BACKEND=sidecar on the service to
        clone voices.
      </p>
    );
  }
  return (
    <div className="flex flex-col gap-4">
      {body.error !== undefined && <p className="text-14 text-waiting-text">{body.error}</p>}
      <CloneForm onCloned={done} />
      {body.references.length > 0 && (
        <p className="text-12 text-muted">Saved voices: {body.references.join(', ')}</p>
      )}
    </div>
  );
}

function RecordPanel({ recorder }: { recorder: RecorderHook }) {
  const { phase, seconds, level, problem } = recorder;
  return (
    <div className="flex flex-col gap-3 rounded-corner border border-line bg-sunken p-3">
      <p className="text-12 text-muted">Read this aloud, in a quiet room:</p>
      <p className="text-14 text-pretty">{PASSAGE}</p>
      <LevelMeter level={level} seconds={seconds} />
      <div className="flex flex-wrap items-center gap-2">
        {phase === 'empty' && (
          <Button icon={<Circle aria-hidden className="fill-failed text-failed" />} onClick={recorder.start}>
            Record
          </Button>
        )}
        {phase === 'recording' && (
          <Button
            icon={<Square aria-hidden />}
            onClick={recorder.stop}
            disabled={seconds < SHORTEST_SECONDS}
            variant="primary"
          >
            {seconds < SHORTEST_SECONDS ? `${Math.ceil(SHORTEST_SECONDS - seconds)} s more` : 'Stop'}
          </Button>
        )}
        {phase === 'ready' && (
          <Button icon={<RotateCcw aria-hidden />} onClick={recorder.start}>
            Record again
          </Button>
        )}
      </div>
      {recorder.recording !== undefined && <Playback audio={recorder.recording.audio} />}
      {problem !== undefined && (
        <p role="alert" className="text-14 text-failed-text">
          {problem}
        </p>
      )}
    </div>
  );
}

function Playback({ audio }: { audio: Blob }) {
  const [url, setUrl] = useState<string | undefined>(undefined);
  useEffect(() => {
    const made = URL.createObjectURL(audio);
    setUrl(made);
    return () => URL.revokeObjectURL(made);
  }, [audio]);
  if (url === undefined) return null;
  // biome-ignore lint/a11y/useMediaCaption: what it holds was just said by the person who hears it
  return <audio controls src={url} aria-label="Your recording" className="h-10 w-full" />;
}

/** `level` is from 0 to 1. */
function LevelMeter({ level, seconds }: { level: number; seconds: number }) {
  const enough = seconds >= SHORTEST_SECONDS;
  return (
    <div className="flex flex-col gap-1.5">
      <meter aria-label="Level" min={0} max={1} value={level} className="sr-only" />
      <div aria-hidden className="h-2 overflow-hidden rounded-full bg-line">
        <div
          className="h-full origin-left rounded-full bg-live"
          style={{ transform: `scaleX(${level.toFixed(3)})` }}
        />
      </div>
      <p className="flex justify-between text-12 text-muted">
        <span>
          {SHORTEST_SECONDS} to {LONGEST_SECONDS} seconds
        </span>
        <span className={`font-mono ${enough ? 'text-live-text' : ''}`}>{seconds.toFixed(1)} s</span>
      </p>
    </div>
  );
}

/** "Night Owl" becomes "night-owl". */
export function slugOf(name: string): string {
  const plain = name.normalize('NFKD').toLowerCase();
  return plain
    .replaceAll(/\p{M}/gu, '')
    .replaceAll(/[^a-z0-9_]+/g, '-')
    .replaceAll(/^[-_]+|-+$/g, '')
    .slice(0, LONGEST_SLUG);
}
