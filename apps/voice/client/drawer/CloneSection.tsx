import { useResource } from '@trunkline/ui';
import { AudioWaveform, ChevronRight } from 'lucide-react';
import { useState } from 'react';
import type { VoiceReferences } from '../../api-types.ts';
import { CloneForm } from '../clone/CloneForm.tsx';

/** A voice from a recording; folded away until it is wanted. */
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
