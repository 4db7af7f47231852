import { Save, Undo2 } from 'lucide-react';
import { useEffect, useState } from 'react';
import { useHotkeys } from '../lib/hotkey.ts';
import { Button } from './Button.tsx';
import { type LineMessage, TextEditor } from './TextEditor.tsx';

interface CheckedEditorProps {
  /** What is edited, read aloud: "The configuration". */
  label: string;
  /** What is saved, or what a new text begins with. */
  saved: string;
  /** The text is saved nowhere yet: it can be saved as it stands. */
  fresh?: boolean;
  /** For short files that stand among other things. */
  short?: boolean;
  /** Asks the service what is wrong with a text; the same function as long as the service would say the same. */
  check(text: string, signal: AbortSignal): Promise<LineMessage[]>;
  /** Tells whether it was saved; `begunFrom` is what was saved when the changes began. */
  save(text: string, begunFrom: string): Promise<boolean>;
}

const CALM_MS = 400;

/** A text that the service checks as one types: mistakes are named at their lines, and a broken text is not saved. */
export function CheckedEditor({
  label,
  saved,
  fresh = false,
  short = false,
  check,
  save,
}: CheckedEditorProps) {
  const [draft, setDraft] = useState<{ text: string; begunFrom: string }>();
  const { text, begunFrom } = draft ?? { text: saved, begunFrom: saved };
  const problems = useProblems(text, check);
  const changed = fresh || text !== saved;
  const ready = changed && problems?.length === 0;
  const saveNow = async () => {
    if (ready && (await save(text, begunFrom))) setDraft(undefined);
  };
  useHotkeys([{ keys: 'mod+s', label: 'Save the text', run: () => void saveNow(), whileTyping: true }]);
  return (
    <div className="flex flex-col gap-3">
      <TextEditor
        short={short}
        label={label}
        value={text}
        onChange={(next) => setDraft({ text: next, begunFrom })}
        messages={problems ?? []}
      />
      <div className="flex flex-wrap items-center gap-3">
        <Button
          variant="primary"
          icon={<Save aria-hidden />}
          disabled={!ready}
          onClick={() => void saveNow()}
        >
          Save
        </Button>
        <Button icon={<Undo2 aria-hidden />} disabled={text === saved} onClick={() => setDraft(undefined)}>
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

// Undefined while the service has not looked at the present text.
function useProblems(text: string, check: CheckedEditorProps['check']): readonly LineMessage[] | undefined {
  const [checked, setChecked] = useState<{ text: string; problems: LineMessage[] }>();
  useEffect(() => {
    const leaving = new AbortController();
    const timer = setTimeout(() => {
      void check(text, leaving.signal)
        .then((problems) => setChecked({ text, problems }))
        // Saving asks once more, and tells when the service is not reached.
        .catch(() => leaving.signal.aborted || setChecked({ text, problems: [] }));
    }, CALM_MS);
    return () => {
      clearTimeout(timer);
      leaving.abort();
    };
  }, [check, text]);
  return checked?.text === text ? checked.problems : undefined;
}
