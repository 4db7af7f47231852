import { Save, Undo2 } from 'lucide-react';
import { useEffect, useRef, useState } from 'react';
import { cn } from '../lib/cn.ts';
import { useHotkeys } from '../lib/hotkey.ts';
import { Button } from './Button.tsx';

/** What is wrong in a line, counted from 1. */
export interface LineMessage {
  line: number;
  message: string;
}

interface TextEditorProps {
  /** What is edited, read aloud: "The configuration". */
  label: string;
  value: string;
  onChange(text: string): void;
  messages?: readonly LineMessage[];
  /** For short files that stand among other things. */
  short?: boolean;
}

const LINE_PX = 20;
const PADDING_PX = 12;

/** Text with numbered lines; what is wrong is marked at its line, and each message leads there. */
export function TextEditor({ label, value, onChange, messages = [], short = false }: TextEditorProps) {
  const field = useRef<HTMLTextAreaElement>(null);
  const [top, setTop] = useState(0);
  const lines = value.split('\n');
  const wrong = new Set(messages.map(({ line }) => line));
  const goTo = (line: number) => {
    const start = lines.slice(0, line - 1).reduce((sum, text) => sum + text.length + 1, 0);
    const element = field.current;
    element?.focus();
    element?.setSelectionRange(start, start + (lines[line - 1]?.length ?? 0));
    if (element) element.scrollTop = Math.max(0, (line - 4) * LINE_PX);
  };
  return (
    <div className="flex min-w-0 flex-col gap-3">
      <div
        className={cn(
          'relative flex overflow-hidden rounded-corner border border-edge bg-raised focus-within:border-ink',
          short ? 'h-80' : 'h-[60dvh] min-h-80',
        )}
      >
        <Gutter count={lines.length} wrong={wrong} top={top} />
        <textarea
          ref={field}
          aria-label={label}
          aria-invalid={messages.length > 0 || undefined}
          value={value}
          wrap="off"
          spellCheck={false}
          autoCapitalize="off"
          autoComplete="off"
          onChange={(event) => onChange(event.target.value)}
          onScroll={(event) => setTop(event.currentTarget.scrollTop)}
          className="min-w-0 flex-1 resize-none overflow-auto bg-transparent px-3 font-mono text-12 leading-5 outline-none [tab-size:2] pointer-coarse:text-16"
          style={{ paddingBlock: PADDING_PX }}
        />
      </div>
      <Messages messages={messages} onOpen={goTo} />
    </div>
  );
}

interface GutterProps {
  count: number;
  wrong: ReadonlySet<number>;
  top: number;
}

// Only the numbers that can be seen are drawn.
function Gutter({ count, wrong, top }: GutterProps) {
  const [height, setHeight] = useState(800);
  const element = useRef<HTMLDivElement>(null);
  useEffect(() => {
    if (element.current === null) return;
    const observer = new ResizeObserver(([entry]) => setHeight(entry?.contentRect.height ?? 800));
    observer.observe(element.current);
    return () => observer.disconnect();
  }, []);
  const first = Math.max(0, Math.floor(top / LINE_PX) - 2);
  const last = Math.min(count, first + Math.ceil(height / LINE_PX) + 4);
  return (
    <div
      ref={element}
      aria-hidden
      className="relative w-12 shrink-0 overflow-hidden border-line border-r bg-sunken font-mono text-12 text-muted select-none pointer-coarse:hidden"
    >
      {Array.from({ length: Math.max(0, last - first) }, (_, index) => first + index + 1).map((line) => (
        <span
          key={line}
          className={cn(
            'absolute inset-x-0 pr-3 text-right leading-5',
            wrong.has(line) && 'bg-failed-wash font-semibold text-failed-text',
          )}
          style={{ top: PADDING_PX + (line - 1) * LINE_PX - top }}
        >
          {line}
        </span>
      ))}
    </div>
  );
}

function Messages({ messages, onOpen }: { messages: readonly LineMessage[]; onOpen(line: number): void }) {
  if (messages.length === 0) return null;
  return (
    <ul aria-label="What is wrong" role="alert" className="flex flex-col rounded-corner bg-failed-wash">
      {messages.map(({ line, message }) => (
        <li key={`${line} ${message}`}>
          <button
            type="button"
            onClick={() => onOpen(line)}
            className="flex w-full cursor-pointer gap-3 px-4 py-2 text-left hover:underline"
          >
            <span className="shrink-0 font-mono text-12 leading-5.25 text-failed-text">Line {line}</span>
            <span className="min-w-0 break-words">{message}</span>
          </button>
        </li>
      ))}
    </ul>
  );
}

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
