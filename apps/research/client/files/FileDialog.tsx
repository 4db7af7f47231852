import { Button, Dialog, ErrorState, Skeleton, useResource } from '@trunkline/ui';
import { useEffect, useMemo, useRef, useState } from 'react';
import type { StoredFile } from '../../api-types.ts';
import { findWords } from '../../text/sentences.ts';
import { bytesWords } from '../lib/format.ts';

/** Much more at once makes a slow page; a passage is read within it. */
const SHOWN_AROUND = 20_000;

interface FileDialogProps {
  id: string;
  /** What is looked for in the file; may be empty. */
  passage: string;
  onClose(): void;
}

/** The text that was read from a file, with a passage of it marked. */
export function FileDialog({ id, passage, onClose }: FileDialogProps) {
  const { body, error } = useResource<StoredFile & { text: string }>(`/api/files/${id}`);
  const isGone = error?.status === 404;
  return (
    <Dialog
      open
      wide
      onClose={onClose}
      title={body?.title ?? 'Your file'}
      {...(body && {
        detail: `${body.name}, ${bytesWords(body.bytes)}. This is the text that was read from it.`,
      })}
    >
      {error && (
        <ErrorState
          what={isGone ? 'This file was removed.' : 'The file could not be opened.'}
          why={isGone ? 'Reports keep the passages that they cite.' : error.message}
          todo={isGone ? 'Upload it again under Files to have it searched.' : error.advice}
        />
      )}
      {error && passage !== '' && <Quoted passage={passage} />}
      {!body && !error && <Skeleton rows={6} />}
      {body && <FileText text={body.text} passage={passage} />}
    </Dialog>
  );
}

function FileText({ text, passage }: { text: string; passage: string }) {
  const mark = useRef<HTMLElement>(null);
  const [whole, setWhole] = useState(false);
  const found = useMemo(() => placeIn(text, passage), [text, passage]);
  const { start, end } = found ?? { start: 0, end: 0 };
  const from = whole ? 0 : Math.max(0, start - SHOWN_AROUND);
  const to = whole ? text.length : Math.min(text.length, end + SHOWN_AROUND);
  useEffect(() => {
    mark.current?.scrollIntoView({ block: 'center' });
  }, []);
  return (
    <>
      {passage !== '' && found === undefined && <Quoted passage={passage} />}
      <div
        role="document"
        aria-label="Text of the file"
        // biome-ignore lint/a11y/noNoninteractiveTabindex: what is read is within reach of the keyboard
        tabIndex={0}
        className="py-1 text-14 break-words whitespace-pre-wrap outline-none"
      >
        {from > 0 && '… '}
        {text.slice(from, start)}
        {found && (
          <mark ref={mark} className="rounded-small bg-accent-wash text-ink">
            {text.slice(start, end)}
          </mark>
        )}
        {text.slice(end, to)}
        {to < text.length && ' …'}
      </div>
      {(from > 0 || to < text.length) && (
        <Button size="small" onClick={() => setWhole(true)} className="mt-2">
          Show the whole text
        </Button>
      )}
    </>
  );
}

function Quoted({ passage }: { passage: string }) {
  return (
    <blockquote className="my-3 border-accent border-l-2 pl-3 text-14 break-words">{passage}</blockquote>
  );
}

/** Where the passage stands; of one that was put together from several, its longest part. */
function placeIn(text: string, passage: string) {
  const parts = passage.split(/…|\n+/).toSorted((left, right) => right.length - left.length);
  return findWords(passage, text) ?? (parts[0] === undefined ? undefined : findWords(parts[0], text));
}
