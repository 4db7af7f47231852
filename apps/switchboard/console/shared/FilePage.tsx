import {
  Button,
  CheckedEditor,
  hashRoute,
  type LineMessage,
  useApi,
  useAttempt,
  useResource,
  useToast,
} from '@trunkline/ui';
import { FileCode, Save } from 'lucide-react';
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

interface EditFormProps extends Pick<FileFormProps, 'busy'> {
  onSubmit(): void;
  children: ReactNode;
}

/** The frame of a form of a file: its panels, and the button that saves. */
export function EditForm({ busy, onSubmit, children }: EditFormProps) {
  return (
    <form
      className="flex flex-col gap-4"
      onSubmit={(event) => {
        event.preventDefault();
        onSubmit();
      }}
    >
      {children}
      <Button type="submit" variant="primary" busy={busy} icon={<Save aria-hidden />} className="self-start">
        Save
      </Button>
    </form>
  );
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
  const write = useWrite();
  const [busy, setBusy] = useState(false);
  const save = async (given: FileFormProps['values']) => {
    const called = name ?? String(given[NAMING[kind]] ?? '').trim();
    const path = `/api/workspace/files/${kind}/${encodeURIComponent(called || 'unnamed')}`;
    setBusy(true);
    const done = await write(called, path, { values: given });
    setBusy(false);
    if (done) onSaved(called);
  };
  return <Form values={values} fresh={name === undefined} busy={busy} onSave={(given) => void save(given)} />;
}

/** Saves a file, and says what it lacks. */
function useWrite() {
  const api = useApi();
  const attempt = useAttempt();
  const toast = useToast();
  return (name: string, path: string, body: object) =>
    attempt(async () => {
      const { data } = await api.request<Answer<{ warnings?: string[] }>>(path, { method: 'PUT', body });
      const [warning] = data.warnings ?? [];
      const detail = warning ?? 'It is live in a moment.';
      toast({ title: `${name} is saved.`, detail, ...(warning !== undefined && { state: 'waiting' }) });
    });
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
  const write = useWrite();
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
    const done = await write(called, pathFor(text), { text });
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
