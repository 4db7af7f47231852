import { Badge, Button, RelativeTime, usePages } from '@trunkline/ui';
import { ChevronRight, History, Undo2 } from 'lucide-react';
import { useState } from 'react';
import type { Answer, ChangeView } from '../../../api-types.ts';
import { List } from '../../shared/blocks.tsx';
import { useReloadOn } from '../../shared/live.ts';
import { Frame } from '../../shared/sections.tsx';
import { useSend } from '../../shared/useList.ts';

const AT_ONCE = 50;

export default function ChangesPage() {
  const send = useSend();
  const list = usePages<ChangeView, Answer<ChangeView[]>>({
    key: 'changes',
    path: (cursor) => `/api/changes?limit=${AT_ONCE}${cursor === undefined ? '' : `&before=${cursor}`}`,
    read: ({ data }) => ({
      items: data,
      next: data.length < AT_ONCE ? null : (data.at(-1)?.id ?? null),
    }),
  });
  useReloadOn(['config.updated', 'schedule.changed'], list.reload);
  const undo = async ({ id, file }: ChangeView) => {
    if (await send(`/api/changes/${id}/undo`, { title: `${file} is as it was before.`, body: {} }))
      list.reload();
  };
  return (
    <Frame
      title="Changes"
      intro="Every change of the workspace that was made here, by commands, or by agents. Each can be taken back, except for files that are only edited by hand, such as keys.yaml."
    >
      <List
        title="Changes"
        hideTitle
        list={list}
        icon={History}
        empty={[
          'Nothing was changed yet',
          'Edit a route or an agent; the change shows here with a way back.',
        ]}
      >
        {(change) => (
          <ChangeRow
            change={change}
            isTakenBack={isTakenBack(change, list.items ?? [])}
            onUndo={() => void undo(change)}
          />
        )}
      </List>
    </Frame>
  );
}

/** An undo may itself be undone. */
function isTakenBack({ id }: ChangeView, changes: readonly ChangeView[]): boolean {
  return changes.some((other) => other.undoes === id && !isTakenBack(other, changes));
}

interface ChangeRowProps {
  change: ChangeView;
  isTakenBack: boolean;
  onUndo(): void;
}

function ChangeRow({ change, isTakenBack: isBack, onUndo }: ChangeRowProps) {
  const [open, setOpen] = useState(false);
  return (
    <li className="border-line border-b last:border-b-0">
      <div className="flex flex-wrap items-center gap-3 px-4 py-3">
        <button
          type="button"
          aria-expanded={open}
          onClick={() => setOpen(!open)}
          className="flex min-w-0 flex-1 basis-56 cursor-pointer items-center gap-3 text-left"
        >
          <ChevronRight
            aria-hidden
            className={`size-4 shrink-0 text-muted transition-transform ${open ? 'rotate-90' : ''}`}
          />
          <span className="min-w-0">
            <span className="flex flex-wrap items-center gap-2">
              <span className="font-mono text-12 break-all">{change.file}</span>
              <Kind change={change} />
            </span>
            <span className="block truncate text-12 text-muted">
              {change.by}
              {change.reason && `: ${change.reason}`}
              {change.undoes !== null && ', takes back an earlier change'}
            </span>
          </span>
        </button>
        <span className="text-12 text-muted">
          <RelativeTime at={change.at} />
        </span>
        {isBack ? (
          <Badge>taken back</Badge>
        ) : (
          change.canUndo && (
            <Button size="small" icon={<Undo2 aria-hidden />} onClick={onUndo}>
              Take back
            </Button>
          )
        )}
      </div>
      {open && <Diff text={change.diff} />}
    </li>
  );
}

function Kind({ change: { before, after } }: { change: ChangeView }) {
  if (before === null) return <Badge tone="live">added</Badge>;
  return after === null ? <Badge tone="failed">removed</Badge> : <Badge>changed</Badge>;
}

const LOOKS: Record<string, string> = {
  '+': 'bg-live-wash text-live-text',
  '-': 'bg-failed-wash text-failed-text',
};

function Diff({ text }: { text: string }) {
  return (
    <section
      // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be within reach of the keyboard
      tabIndex={0}
      aria-label="Difference"
      className="mx-4 mb-4 overflow-x-auto rounded-corner border border-line bg-sunken py-2 font-mono text-12 leading-5 whitespace-pre"
    >
      {text.split('\n').map((line, index) => (
        <span
          // biome-ignore lint/suspicious/noArrayIndexKey: the lines of a difference never move
          key={index}
          className={`block min-w-max px-4 ${LOOKS[line.charAt(0)] ?? ''}`}
        >
          {line || ' '}
        </span>
      ))}
    </section>
  );
}
