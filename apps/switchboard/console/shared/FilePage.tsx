import { CheckedEditor, hashRoute, type LineMessage, useApi, useAttempt, useResource } from '@trunkline/ui';
import { type ReactNode, useCallback } from 'react';
import type { Answer } from '../../api-types.ts';
import { BackLink, Loaded, RemoveButton } from './blocks.tsx';
import { useReloadOn } from './live.ts';
import { Frame } from './sections.tsx';

/** Kinds that are edited as text, and the field that names each. */
const NAMING = { agent: 'name', route: 'name', ceremony: 'id' } as const;

/** The name of a new file in the address. */
export const NEW = '+';

interface FilePageProps {
  kind: FileKind;
  /** Plural of the kind. */
  all: 'agents' | 'routes' | 'ceremonies';
  /** Address of the list. */
  place: readonly string[];
  name: string;
  template: string;
  /** Further content of the page. */
  children?: ReactNode;
}

export function FilePage({ kind, all, place, name, template, children }: FilePageProps) {
  const goTo = (...parts: string[]) => {
    window.location.hash = hashRoute(...place, ...parts);
  };
  return (
    <Frame
      title={name === NEW ? `New ${kind}` : name}
      intro={<BackLink to={place}>All {all}</BackLink>}
      actions={
        name !== NEW && (
          <RemoveButton
            path={`/api/${all}/${encodeURIComponent(name)}`}
            kind={kind}
            name={name}
            onGone={() => goTo()}
          />
        )
      }
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
  const resource = useResource<Answer<{ text: string }>>(
    `/api/workspace/files/${kind}/${encodeURIComponent(name)}`,
  );
  useReloadOn(['config.updated'], resource.reload);
  return (
    <Loaded resource={resource} what={name} rows={10}>
      {({ text }) => <FileEditor kind={kind} name={name} saved={text} onSaved={resource.reload} />}
    </Loaded>
  );
}

type FileKind = keyof typeof NAMING;

interface FileEditorProps {
  kind: FileKind;
  /** Undefined for a new file, which is named by its text. */
  name: string | undefined;
  /** The saved text, or the template. */
  saved: string;
  onSaved(name: string): void;
}

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
