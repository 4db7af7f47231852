import { Button } from '@trunkline/ui';
import { Circle, RotateCcw, Square } from 'lucide-react';
import { useEffect, useState } from 'react';
import { LevelMeter } from './LevelMeter.tsx';
import { LONGEST_SECONDS, type RecorderHook, SHORTEST_SECONDS } from './useRecorder.ts';

const PASSAGE =
  'On clear evenings the lamps along the harbour come on one by one. I like to stand there for a while, count the boats, and listen to the ropes knock against the masts. Somebody always whistles. Then the last ferry leaves, and the water is quiet again.';

/** Records a voice, with words to read aloud and a meter. */
export function RecordPanel({ recorder }: { recorder: RecorderHook }) {
  const { phase, seconds, level, problem } = recorder;
  return (
    <div className="flex flex-col gap-3 rounded-corner border border-line bg-sunken p-3">
      <p className="text-12 text-muted">Read this aloud, in a quiet room:</p>
      <p className="text-14 text-pretty">{PASSAGE}</p>
      <LevelMeter level={level} seconds={seconds} shortest={SHORTEST_SECONDS} longest={LONGEST_SECONDS} />
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
