import { errorMessage } from '@trunkline/std';
import { Button, TextAreaField, TextField, useApi, useToast } from '@trunkline/ui';
import { useState } from 'react';
import { useCallSettings } from '../call/settings.ts';
import { ask } from '../drawer/errorBody.ts';
import { RecordPanel } from './RecordPanel.tsx';
import { slugOf } from './slug.ts';
import { useRecorder } from './useRecorder.ts';

interface Cloned {
  slug: string;
  name: string;
  transcript: string;
  auto_transcribed: boolean;
}

const UPLOAD_LIMIT_MS = 240_000;

/** A recording from the microphone or a file, a name, and if wanted its words. */
export function CloneForm({ onCloned }: { onCloned(): void }) {
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
      const body = formOf({ audio, slug, name, transcript, description });
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

interface Upload {
  audio: Blob;
  slug: string;
  name: string;
  transcript: string;
  description: string;
}

function formOf({ audio, ...fields }: Upload): FormData {
  const form = new FormData();
  form.set('audio', audio, audio instanceof File ? audio.name : 'recording.wav');
  for (const [field, value] of Object.entries(fields)) if (value.trim() !== '') form.set(field, value.trim());
  return form;
}
