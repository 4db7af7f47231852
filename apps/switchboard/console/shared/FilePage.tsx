import {
  Button,
  CheckedEditor,
  hashRoute,
  type LineMessage,
  useApi,
  useAttempt,
  useResource,
} from '@trunkline/ui';
import { FileCode } from 'lucide-react';
import { type ComponentType, type ReactNode, useCallback, useState } from 'react';
import type { Answer } from '../../api-types.ts';
import { BackLink, Loaded, RemoveButton } from './blocks.tsx';
import { useReloadOn } from './live.ts';
import { Frame } from './sections.tsx';

/** Kinds that are edited as text, and the field that names each. */
const NAMING = { agent: 'name', route: 'name', ceremony: 'id' } as const;

/** The name of a new file in the address. */
export const NEW = '+';

/** What a form of a kind of file is given. */
export interface FileFormProps {
  /** What the file says; what a new one begins with. */
  values: Readonly<Record<string, unknown>>;
  /** The name can be chosen. */
  fresh: boolean;
  busy: boolean;
  /** Null takes a field out. */
  onSave(values: Readonly<Record<string, unknown>>): void;
}

interface FilePageProps {
  kind: FileKind;
  /** Plural of the kind. */
  all: 'agents' | 'routes' | 'ceremonies';
  /** Address of the list. */
  place: readonly string[];
  name: string;
  template: string;
  /** What most people change; the rest is in the text. Without it the page shows the text alone. */
  Form?: ComponentType<FileFormProps> | undefined;
  /** What the form of a new file begins with. */
  start?: FileFormProps['values'];
  /** Further content of the page. */
  children?: ReactNode;
}

export function FilePage({ kind, all, place, name, template, Form, start = {}, children }: FilePageProps) {
  const [asText, setAsText] = useState(Form === undefined);
  const goTo = (...parts: string[]) => {
    window.location.hash = hashRoute(...place, ...parts);
  };
  return (
    <Frame
      title={name === NEW ? `New ${kind}` : name}
      intro={<BackLink to={place}>All {all}</BackLink>}
      actions={
        <>
          {Form && (
            <Button icon={<FileCode aria-hidden />} aria-pressed={asText} onClick={() => setAsText(!asText)}>
              {asText ? 'Use the form' : 'Edit as YAML'}
            </Button>
          )}
          {name !== NEW && (
            <RemoveButton
              path={`/api/${all}/${encodeURIComponent(name)}`}
              kind={kind}
              name={name}
              onGone={() => goTo()}
            />
          )}
        </>
      }
    >
      {name !== NEW ? (
        <Present kind={kind} name={name} Form={asText ? undefined : Form} />
      ) : Form && !asText ? (
        <FileForm kind={kind} name={undefined} Form={Form} values={start} onSaved={goTo} />
      ) : (
        <FileEditor kind={kind} name={undefined} saved={template} onSaved={goTo} />
      )}
      {children}
    </Frame>
  );
}

interface FileContent {
  text: string;
  /** Null for a text that is broken. */
  values: FileFormProps['values'] | null;
}

function Present({ kind, name, Form }: Pick<FilePageProps, 'kind' | 'name' | 'Form'>) {
  const resource = useResource<Answer<FileContent>>(
    `/api/workspace/files/${kind}/${encodeURIComponent(name)}`,
  );
  useReloadOn(['config.updated'], resource.reload);
  return (
    <Loaded resource={resource} what={name} rows={10}>
      {({ text, values }) =>
        Form && values !== null ? (
          // Made anew when the file has changed.
          <FileForm
            key={text}
            kind={kind}
            name={name}
            Form={Form}
            values={values}
            onSaved={resource.reload}
          />
        ) : (
          <FileEditor kind={kind} name={name} saved={text} onSaved={resource.reload} />
        )
      }
    </Loaded>
  );
}

interface FileFormFrameProps extends Pick<FileFormProps, 'values'> {
  kind: FileKind;
  name: string | undefined;
  Form: ComponentType<FileFormProps>;
  onSaved(name: string): void;
}

function FileForm({ kind, name, Form, values, onSaved }: FileFormFrameProps) {
  const api = useApi();
  const attempt = useAttempt();
  const [busy, setBusy] = useState(false);
  const save = async (given: FileFormProps['values']) => {
    const called = name ?? String(given[NAMING[kind]] ?? '').trim();
    const path = `/api/workspace/files/${kind}/${encodeURIComponent(called || 'unnamed')}`;
    setBusy(true);
    const write = () => api.request(path, { method: 'PUT', body: { values: given } });
    const done = await attempt(write, { title: `${called} is saved.`, detail: 'It is live in a moment.' });
    setBusy(false);
    if (done) onSaved(called);
  };
  return <Form values={values} fresh={name === undefined} busy={busy} onSave={(given) => void save(given)} />;
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
