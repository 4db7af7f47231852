import { Button, ErrorState, hashRoute, Skeleton, useResource } from '@trunkline/ui';
import { ArrowLeft, Trash2 } from 'lucide-react';
import type { ReactNode } from 'react';
import type { Answer } from '../../api-types.ts';
import { Frame } from '../app/Frame.tsx';
import { FileEditor, type FileKind } from './FileEditor.tsx';
import { useReloadOn } from './live.ts';
import { useSend, useUndoLast } from './useList.ts';

/** Stands in the address for a file that is not there yet. */
export const NEW = '+';

interface FilePageProps {
  kind: FileKind;
  /** The word for all of its kind. */
  all: 'agents' | 'routes' | 'ceremonies';
  /** Where the list of them is shown. */
  place: readonly string[];
  name: string;
  /** What a new file begins with. */
  template: string;
  /** What else belongs to the file. */
  children?: ReactNode;
}

/** One file of the workspace, to be written or removed. */
export function FilePage({ kind, all, place, name, template, children }: FilePageProps) {
  const goTo = (...parts: string[]) => {
    window.location.hash = hashRoute(...place, ...parts);
  };
  return (
    <Frame
      title={name === NEW ? `New ${kind}` : name}
      intro={
        <a
          className="inline-flex items-center gap-1 text-accent-text underline underline-offset-2"
          href={hashRoute(...place)}
        >
          <ArrowLeft aria-hidden className="size-4" /> All {all}
        </a>
      }
      actions={name !== NEW && <Remove {...{ kind, all, name }} onGone={() => goTo()} />}
    >
      {name === NEW ? (
        <FileEditor kind={kind} name={undefined} saved={template} onSaved={goTo} />
      ) : (
        <Present kind={kind} name={name} />
      )}
      {children}
    </Frame>
  );
}

function Present({ kind, name }: Pick<FilePageProps, 'kind' | 'name'>) {
  const { body, error, reload } = useResource<Answer<{ text: string }>>(
    `/api/workspace/files/${kind}/${encodeURIComponent(name)}`,
  );
  useReloadOn(['config.updated'], reload);
  if (error && !body)
    return <ErrorState what={`${name} could not be loaded.`} why={error.message} todo={error.advice} />;
  if (body === undefined) return <Skeleton rows={10} />;
  return <FileEditor kind={kind} name={name} saved={body.data.text} onSaved={reload} />;
}

interface RemoveProps extends Pick<FilePageProps, 'kind' | 'all' | 'name'> {
  onGone(): void;
}

function Remove({ kind, all, name, onGone }: RemoveProps) {
  const send = useSend();
  const undoLast = useUndoLast();
  const remove = async () => {
    const gone = await send(`/api/${all}/${encodeURIComponent(name)}`, {
      method: 'DELETE',
      title: `${name} is removed.`,
      undo: () => undoLast(kind, name),
    });
    if (gone) onGone();
  };
  return (
    <Button icon={<Trash2 aria-hidden />} onClick={() => void remove()}>
      Remove
    </Button>
  );
}
