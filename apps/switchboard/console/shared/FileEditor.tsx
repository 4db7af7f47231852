import { Button, type LineMessage, TextEditor, useApi, useAttempt, useHotkeys } from '@trunkline/ui';
import { Save, Undo2 } from 'lucide-react';
import { useEffect, useState } from 'react';
import type { Answer } from './wire.ts';

interface FileEditorProps {
  kind: 'agent' | 'route';
  /** What the file is called; undefined for a new one, which is called as its text says. */
  name: string | undefined;
  /** What is saved, or what a new file begins with. */
  saved: string;
  onSaved(name: string): void;
}

const CALM_MS = 400;

/** A file of the workspace as text; mistakes are named at their lines as one types, and a broken text is not saved. */
export function FileEditor({ kind, name, saved, onSaved }: FileEditorProps) {
  const api = useApi();
  const attempt = useAttempt();
  const [draft, setDraft] = useState<string>();
  const text = draft ?? saved;
  const called = name ?? nameIn(text);
  const path = `/api/workspace/files/${kind}/${encodeURIComponent(called || 'unnamed')}`;
  const problems = useProblems(path, text);
  const changed = name === undefined || text !== saved;
  const ready = changed && problems?.length === 0;
  const save = async () => {
    if (!ready) return;
    const write = () => api.request(path, { method: 'PUT', body: { text } });
    if (!(await attempt(write, { title: `${called} is saved.`, detail: 'It is live in a moment.' }))) return;
    setDraft(undefined);
    onSaved(called);
  };
  useHotkeys([{ keys: 'mod+s', label: 'Save the file', run: () => void save(), whileTyping: true }]);
  return (
    <div className="flex flex-col gap-3">
      <TextEditor
        short
        label={`The ${kind} as YAML`}
        value={text}
        onChange={setDraft}
        messages={problems ?? []}
      />
      <div className="flex flex-wrap items-center gap-3">
        <Button variant="primary" icon={<Save aria-hidden />} disabled={!ready} onClick={() => void save()}>
          Save
        </Button>
        <Button
          icon={<Undo2 aria-hidden />}
          disabled={draft === undefined || draft === saved}
          onClick={() => setDraft(undefined)}
        >
          Start over
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

function nameIn(text: string): string {
  return /^name:[ \t]*["']?([\w-]+)/m.exec(text)?.[1] ?? '';
}

// Undefined while the service has not looked at the present text.
function useProblems(path: string, text: string): readonly LineMessage[] | undefined {
  const api = useApi();
  const [checked, setChecked] = useState<{ text: string; problems: LineMessage[] }>();
  useEffect(() => {
    const leaving = new AbortController();
    const timer = setTimeout(() => {
      void api
        .request<Answer<{ problems: LineMessage[] }>>(`${path}/check`, {
          body: { text },
          signal: leaving.signal,
        })
        .then(({ data }) => setChecked({ text, problems: data.problems }))
        // Saving asks once more, and tells when the service is not reached.
        .catch(() => leaving.signal.aborted || setChecked({ text, problems: [] }));
    }, CALM_MS);
    return () => {
      clearTimeout(timer);
      leaving.abort();
    };
  }, [api, path, text]);
  return checked?.text === text ? checked.problems : undefined;
}
