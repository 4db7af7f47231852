import {
  Button,
  CheckedEditor,
  ErrorState,
  hashRoute,
  type LineMessage,
  Skeleton,
  useApi,
  useAttempt,
  useResource,
} from '@trunkline/ui';
import { ArrowLeft, Trash2 } from 'lucide-react';
import { type ReactNode, useCallback } from 'react';
import type { Answer } from '../../api-types.ts';
import { useReloadOn } from './live.ts';
import { Frame } from './sections.tsx';
import { useSend, useUndoLast } from './useList.ts';

/** The kinds of files that are written as text, and the field that names each. */
const NAMING = { agent: 'name', route: 'name', ceremony: 'id' } as const;

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

type FileKind = keyof typeof NAMING;

interface FileEditorProps {
  kind: FileKind;
  /** What the file is called; undefined for a new one, which is called as its text says. */
  name: string | undefined;
  /** What is saved, or what a new file begins with. */
  saved: string;
  onSaved(name: string): void;
}

/** A file of the workspace as text. */
function FileEditor({ kind, name, saved, onSaved }: FileEditorProps) {
  const api = useApi();
  const attempt = useAttempt();
  const pathFor = useCallback(
    (text: string) =>
      `/api/workspace/files/${kind}/${encodeURIComponent(name ?? (nameIn(text, kind) || 'unnamed'))}`,
    [kind, name],
  );
  const check = useCallback(
    async (text: string, signal: AbortSignal) => {
      type Checked = Answer<{ problems: LineMessage[] }>;
      const { data } = await api.request<Checked>(`${pathFor(text)}/check`, { body: { text }, signal });
      return data.problems;
    },
    [api, pathFor],
  );
  const save = async (text: string) => {
    const called = name ?? nameIn(text, kind);
    const write = () => api.request(pathFor(text), { method: 'PUT', body: { text } });
    const done = await attempt(write, { title: `${called} is saved.`, detail: 'It is live in a moment.' });
    if (done) onSaved(called);
    return done;
  };
  return (
    <CheckedEditor
      short
      label={`The ${kind} as YAML`}
      saved={saved}
      fresh={name === undefined}
      check={check}
      save={save}
    />
  );
}

function nameIn(text: string, kind: FileKind): string {
  const field = new RegExp(`^${NAMING[kind]}:[ \\t]*["']?([\\w-]+)`, 'm');
  return field.exec(text)?.[1] ?? '';
}
