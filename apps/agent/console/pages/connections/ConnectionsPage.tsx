import { Tabs } from '@trunkline/ui';
import { useState } from 'react';
import { PageFrame } from '../../app/PageFrame.tsx';
import { DelegatesTab } from './DelegatesTab.tsx';
import { McpTab } from './McpTab.tsx';
import { PluginsTab } from './PluginsTab.tsx';
import { ToolsTab } from './ToolsTab.tsx';

/** Where the agent's tools come from: plugins, MCP servers and other agents. */
export default function ConnectionsPage() {
  const [tab, setTab] = useState('plugins');
  return (
    <PageFrame
      title="Connections"
      intro="What gives the agent more tools: plugins, MCP servers, and others it hands work to."
    >
      <Tabs
        label="Connections"
        value={tab}
        onChange={setTab}
        tabs={[
          { id: 'plugins', label: 'Plugins', content: <PluginsTab /> },
          { id: 'mcp', label: 'MCP servers', content: <McpTab /> },
          { id: 'delegates', label: 'Delegates', content: <DelegatesTab /> },
          { id: 'tools', label: 'All tools', content: <ToolsTab /> },
        ]}
      />
    </PageFrame>
  );
}
