import { Button } from '@trunkline/ui';
import { ArrowUp } from 'lucide-react';
import { type ReactNode, type Ref, useState } from 'react';

interface AskFormProps {
  label: string;
  placeholder: string;
  onAsk(question: string): void;
  busy?: boolean;
  /** The word on the button; an arrow alone when not given. */
  action?: string;
  /** Below the text, at its left. */
  children?: ReactNode;
  inputRef?: Ref<HTMLTextAreaElement>;
}

const SHORTEST = 2;

/** The box to ask in: Enter sends, Shift and Enter makes a new line. */
export function AskForm({
  label,
  placeholder,
  onAsk,
  busy = false,
  action,
  children,
  inputRef,
}: AskFormProps) {
  const [text, setText] = useState('');
  const question = text.trim();
  const send = () => {
    if (question.length < SHORTEST || busy) return;
    onAsk(question);
    setText('');
  };
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault();
        send();
      }}
      className="flex flex-col gap-2 rounded-corner border border-edge bg-raised p-2 transition-colors focus-within:border-accent-strong"
    >
      <textarea
        ref={inputRef}
        aria-label={label}
        value={text}
        rows={1}
        maxLength={2000}
        placeholder={placeholder}
        onChange={(event) => setText(event.target.value)}
        onKeyDown={(event) => {
          if (event.key !== 'Enter' || event.shiftKey || event.nativeEvent.isComposing) return;
          event.preventDefault();
          send();
        }}
        className="field-sizing-content max-h-60 min-h-10 w-full resize-none bg-transparent px-2 py-2 text-16 outline-none placeholder:text-muted"
      />
      <div className="flex flex-wrap items-center justify-between gap-2">
        <div className="flex min-w-0 flex-wrap items-center gap-2">{children}</div>
        <Button
          type="submit"
          variant="primary"
          busy={busy}
          disabled={question.length < SHORTEST}
          aria-label={action ?? 'Send'}
          icon={<ArrowUp aria-hidden />}
        >
          {action}
        </Button>
      </div>
    </form>
  );
}
