import {
  Button,
  ErrorState,
  type LineMessage,
  Skeleton,
  TextEditor,
  useApi,
  useAttempt,
  useHotkeys,
  useResource,
} from '@trunkline/ui';
import { Save, Undo2 } from 'lucide-react';
import { useEffect, useState } from 'react';
import { useLive } from '../../app/live.ts';

const CALM_MS = 400;

/** The configuration as text; mistakes are named at their lines as one types, and a broken text is not saved. */
export function ConfigEditor() {
  const { body, error, reload } = useResource<{ file: string; text: string }>('/api/config');
  const [text, setText] = useState<string>();
  useLive(['config'], reload);
  if (error)
    return (
      <ErrorState what="The configuration could not be loaded." why={error.message} todo={error.advice} />
    );
  if (body === undefined) return <Skeleton rows={10} />;
  return (
    <Editor
      file={body.file}
      saved={body.text}
      text={text ?? body.text}
      onChange={setText}
      onSaved={() => {
        setText(undefined);
        reload();
      }}
    />
  );
}

interface EditorProps {
  file: string;
  saved: string;
  text: string;
  onChange(text: string | undefined): void;
  onSaved(): void;
}

function Editor({ file, saved, text, onChange, onSaved }: EditorProps) {
  const api = useApi();
  const attempt = useAttempt();
  const problems = useProblems(text);
  const changed = text !== saved;
  const ready = changed && problems?.length === 0;
  const save = async () => {
    if (!ready) return;
    const write = () => api.request('/api/config', { method: 'PUT', body: { text } });
    if (await attempt(write, { title: 'Saved.', detail: 'It takes effect in a moment.' })) onSaved();
  };
  useHotkeys([{ keys: 'mod+s', label: 'Save the configuration', run: () => void save(), whileTyping: true }]);
  return (
    <div className="flex flex-col gap-3">
      <p className="font-mono text-12 break-all text-muted">{file}</p>
      <TextEditor label="The configuration" value={text} onChange={onChange} messages={problems ?? []} />
      <div className="flex flex-wrap items-center gap-3">
        <Button variant="primary" icon={<Save aria-hidden />} disabled={!ready} onClick={() => void save()}>
          Save
        </Button>
        <Button icon={<Undo2 aria-hidden />} disabled={!changed} onClick={() => onChange(undefined)}>
          Back to what is saved
        </Button>
        <span role="status" className="text-12 text-muted">
          {statusOf(changed, problems)}
        </span>
      </div>
    </div>
  );
}

function statusOf(changed: boolean, problems: readonly LineMessage[] | undefined): string {
  if (problems === undefined) return 'Checking';
  if (problems.length > 0) return 'Mend what is named above to save.';
  return changed ? 'Not saved yet' : 'This is what is in force.';
}

// Undefined while the service has not looked at the present text.
function useProblems(text: string): readonly LineMessage[] | undefined {
  const api = useApi();
  const [checked, setChecked] = useState<{ text: string; problems: LineMessage[] }>();
  useEffect(() => {
    const leaving = new AbortController();
    const timer = setTimeout(() => {
      void api
        .request<{ problems: LineMessage[] }>('/api/config/check', { body: { text }, signal: leaving.signal })
        .then(({ problems }) => setChecked({ text, problems }))
        // Saving asks once more, and tells when the service is not reached.
        .catch(() => leaving.signal.aborted || setChecked({ text, problems: [] }));
    }, CALM_MS);
    return () => {
      clearTimeout(timer);
      leaving.abort();
    };
  }, [api, text]);
  return checked?.text === text ? checked.problems : undefined;
}
