import type { Draft } from '@trunkline/bus';
import { resolveInside, writeFileAtomic } from '@trunkline/storage';

interface Aside {
  /** Of the workspace. */
  directory: string;
  file: string;
  text: string;
  /** Who reports it: the kind of the file. */
  kind: string;
  mode?: number | undefined;
  /** What is wrong with the text; missing where it is only another than its replacer knew. */
  problem?: string | undefined;
}

/** Copies a text to a file beside its own, before another text replaces it; gives the message that says so. */
export async function keepAside({ directory, file, text, kind, mode, problem }: Aside): Promise<Draft> {
  const stamp = new Date().toISOString().replaceAll(':', '-');
  const aside = `${file}.${problem === undefined ? 'replaced' : 'broken'}-${stamp}`;
  await writeFileAtomic(resolveInside(directory, aside), text, mode === undefined ? {} : { mode });
  const error =
    problem === undefined
      ? `${file} differed from the file that was saved or removed at another switchboard. What stood here is kept as ${aside}.`
      : `${problem} It is kept as ${aside}, and ${file} goes on without it.`;
  return { topic: 'system.error', payload: { source: 'workspace', plugin: kind, error, file } };
}
