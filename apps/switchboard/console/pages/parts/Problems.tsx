import { ErrorState, useResource } from '@trunkline/ui';
import { useReloadOn } from '../../shared/live.ts';
import type { Answer } from '../../shared/wire.ts';

interface Workspace {
  directory: string;
  problems: { file: string; error: string }[];
}

/** Files of the workspace that cannot be used as they are. */
export function Problems() {
  const { body, reload } = useResource<Answer<Workspace>>('/api/workspace');
  useReloadOn(['config.updated', 'system.error'], reload);
  return body?.data.problems.map(({ file, error }) => (
    <ErrorState
      key={file}
      what={`${file.slice(body.data.directory.length + 1) || file} cannot be used.`}
      why={<span className="whitespace-pre-wrap">{error.replaceAll(`${body.data.directory}/`, '')}</span>}
      todo="Mend the file; until then its last good version holds."
    />
  ));
}
