import { buttonClass, ErrorState, hashRoute, Panel, Skeleton, useResource } from '@trunkline/ui';
import { useMemo } from 'react';
import type { AgentView, Answer, McpServerView, PluginStatus } from '../../../api-types.ts';
import { useReloadOn } from '../../shared/live.ts';
import { Frame } from '../../shared/sections.tsx';
import { MessageList, useFeed } from '../feed/MessageRow.tsx';
import { Board } from './Board.tsx';
import { buildMap, type ExchangeMap, type WorkspaceView } from './model.ts';
import { useLights } from './useLights.ts';

const SHOWN = 8;
/** An agent that died is to be seen at once. */
const REFRESH_MS = 2000;

export default function MapPage() {
  const { map, error } = useMap();
  const lights = useLights(map);
  return (
    <Frame
      wide
      title="Map"
      intro="Messages come in by a surface and find an agent, which uses tools or hands work to others. What glows is passing now."
    >
      {error && !map && (
        <ErrorState what="The map could not be drawn." why={error.message} todo={error.advice} />
      )}
      {!map && !error && (
        <Panel title="Exchange">
          <Skeleton rows={8} />
        </Panel>
      )}
      {map && <Board map={map} lights={lights} />}
      {map && <Latest />}
    </Frame>
  );
}

function useMap() {
  const plugins = useResource<Answer<PluginStatus[]>>('/api/plugins');
  const agents = useResource<Answer<AgentView[]>>('/api/agents', { refreshMs: REFRESH_MS });
  const servers = useResource<Answer<McpServerView[]>>('/api/mcp-servers');
  const workspace = useResource<Answer<WorkspaceView>>('/api/workspace');
  const all = [plugins, agents, servers, workspace];
  useReloadOn(['config.updated'], () => {
    for (const { reload } of all) reload();
  });
  const map = useMemo<ExchangeMap | undefined>(() => {
    if (!plugins.body || !agents.body || !servers.body || !workspace.body) return undefined;
    return buildMap({
      plugins: plugins.body.data,
      agents: agents.body.data,
      servers: servers.body.data,
      workspace: workspace.body.data,
    });
  }, [plugins.body, agents.body, servers.body, workspace.body]);
  return { map, error: all.find(({ error }) => error !== undefined)?.error };
}

function Latest() {
  const { list } = useFeed({ topic: '', correlationId: '' });
  return (
    <MessageList
      title="Passing now"
      list={{ ...list, items: list.items?.slice(0, SHOWN), hasMore: false }}
      actions={
        <a className={buttonClass({ size: 'small' })} href={hashRoute('feed')}>
          Open the feed
        </a>
      }
      empty={[
        'Nothing has passed yet',
        'Send a message to an agent under Agents, and watch its way light up.',
      ]}
    />
  );
}
