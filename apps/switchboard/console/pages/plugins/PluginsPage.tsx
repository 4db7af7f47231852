import { ErrorState, Lamp, type PagedList, stateLamp, useResource } from '@trunkline/ui';
import { Puzzle } from 'lucide-react';
import type { Answer, PluginStatus } from '../../../api-types.ts';
import { List } from '../../shared/blocks.tsx';
import { useReloadOn } from '../../shared/live.ts';
import { Frame } from '../../shared/sections.tsx';
import { useList } from '../../shared/useList.ts';

const LAMPS: Record<PluginStatus['state'], ReturnType<typeof stateLamp>> = {
  running: stateLamp('running', 'Runs'),
  waiting: stateLamp('starting'),
  off: stateLamp('off'),
  failed: stateLamp('failed'),
};

export default function PluginsPage() {
  const list = useList<PluginStatus>('/api/plugins', ['system.error', 'config.updated']);
  return (
    <Frame
      title="Plugins"
      intro="Surfaces and other plugins: which run, which are off, and what switches them on."
    >
      <Problems />
      <PluginList
        title="Surfaces"
        detail="Where people and products are. Those that are off say what switches them on."
        list={only(list, isSurface)}
      />
      <PluginList
        title="Inside the switchboard"
        detail="These run on their own. One that fails says here why, and what to do."
        list={only(list, (plugin) => !isSurface(plugin))}
      />
    </Frame>
  );
}

function isSurface({ kind }: PluginStatus): boolean {
  return kind === 'surface';
}

function only(
  list: PagedList<PluginStatus>,
  isWanted: (plugin: PluginStatus) => boolean,
): PagedList<PluginStatus> {
  return { ...list, items: list.items?.filter(isWanted) };
}

function PluginList(props: { title: string; detail: string; list: PagedList<PluginStatus> }) {
  return (
    <List {...props} icon={Puzzle} empty={['No plugins', 'Restart the switchboard.']}>
      {({ name, title = name, description, state, words }) => (
        <li className="flex flex-wrap items-center gap-x-4 border-line border-b px-4 py-3 last:border-b-0">
          <span className="w-44 font-medium">{title}</span>
          <Lamp {...LAMPS[state]} className="w-20" />
          <span className="min-w-0 flex-1 basis-56 break-words text-muted">
            {description}
            {words && <span className="block">{words}</span>}
          </span>
        </li>
      )}
    </List>
  );
}

interface Workspace {
  directory: string;
  problems: { file: string; error: string }[];
}

function Problems() {
  const { body, reload } = useResource<Answer<Workspace>>('/api/workspace');
  useReloadOn(['config.updated', 'system.error'], reload);
  return body?.data.problems.map(({ file, error }) => (
    <ErrorState
      key={file}
      what={`${file.slice(body.data.directory.length + 1) || file} cannot be used.`}
      why={<span className="whitespace-pre-wrap">{error.replaceAll(`${body.data.directory}/`, '')}</span>}
      todo="Fix the file. It counts as soon as it is saved."
    />
  ));
}
