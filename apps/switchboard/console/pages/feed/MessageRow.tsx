import { CodeView, hashRoute, RelativeTime } from '@trunkline/ui';
import { ChevronRight } from 'lucide-react';
import { useState } from 'react';
import type { BusMessage } from '../../../api-types.ts';

/** One message: its topic and a glance at what it says; opened, all of it. */
export function MessageRow({ message }: { message: BusMessage }) {
  const [open, setOpen] = useState(false);
  return (
    <li className="animate-appear border-line border-b [contain-intrinsic-size:auto_3rem] [content-visibility:auto] last:border-b-0">
      <button
        type="button"
        aria-expanded={open}
        onClick={() => setOpen(!open)}
        className="flex w-full cursor-pointer items-center gap-3 px-4 py-2 text-left hover:bg-hover focus-visible:-outline-offset-2"
      >
        <ChevronRight
          aria-hidden
          className={`size-4 shrink-0 text-muted transition-transform ${open ? 'rotate-90' : ''}`}
        />
        <span className="min-w-0 flex-1 sm:flex sm:items-baseline sm:gap-3">
          <span className="block shrink-0 truncate font-mono text-12 sm:max-w-[60%]">{message.topic}</span>
          <span className="block min-w-0 truncate text-12 text-muted">{glanceAt(message.payload)}</span>
        </span>
        <span className="shrink-0 text-12 text-muted">
          <RelativeTime at={message.timestamp} />
        </span>
      </button>
      {open && <Whole message={message} />}
    </li>
  );
}

function Whole({ message }: { message: BusMessage }) {
  const { payload, correlationId } = message;
  const link = 'text-accent-text underline underline-offset-2';
  return (
    <div className="flex flex-col gap-2 px-4 pt-1 pb-4 sm:pl-11">
      <p className="flex flex-wrap gap-x-4 gap-y-1 text-12">
        <a className={link} href={hashRoute('feed', '#', correlationId)}>
          All of this correlation
        </a>
        <a className={link} href={hashRoute('feed', message.topic)}>
          Only this topic
        </a>
        <a className={link} href={hashRoute('flows', `skill-${correlationId}`)}>
          Its flow
        </a>
      </p>
      <CodeView code={JSON.stringify({ ...message, payload }, null, 2)} title={message.topic} wrap />
    </div>
  );
}

/** A few words of what a message says. */
function glanceAt(payload: unknown): string {
  if (typeof payload !== 'object' || payload === null) return String(payload ?? '');
  const fields = payload as Record<string, unknown>;
  const words = [fields.content, fields.question, fields.why, fields.error, fields.text].find(
    (field) => typeof field === 'string' && field !== '',
  );
  return typeof words === 'string' ? words : JSON.stringify(payload).slice(0, 200);
}
