import { CheckedEditor, type LineMessage, useApi, useAttempt } from '@trunkline/ui';
import { useCallback } from 'react';
import type { Answer } from '../../api-types.ts';

/** The kinds of files that are written as text, and the field that names each. */
const NAMING = { agent: 'name', route: 'name', ceremony: 'id' } as const;

export type FileKind = keyof typeof NAMING;

interface FileEditorProps {
  kind: FileKind;
  /** What the file is called; undefined for a new one, which is called as its text says. */
  name: string | undefined;
  /** What is saved, or what a new file begins with. */
  saved: string;
  onSaved(name: string): void;
}

/** A file of the workspace as text. */
export function FileEditor({ kind, name, saved, onSaved }: FileEditorProps) {
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
