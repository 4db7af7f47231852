import {
  Badge,
  type JsonSchema,
  Lamp,
  type LampState,
  ListPanel,
  Tabs,
  TextField,
  useApi,
  useAttempt,
  useToast,
} from '@trunkline/ui';
import { Plug, Users, Wrench } from 'lucide-react';
import { useState } from 'react';
import type { PluginState } from '../../../plugins/open-plugins.ts';
import { type Delegate, useConfig, useLive, useLiveList } from '../../app/live.ts';
import { PageFrame } from '../../shared/AgentShell.tsx';
import { SwitchRow } from '../../shared/SwitchRow.tsx';
import { ConnectionList, linesOf, NAME } from './ConnectionList.tsx';
import { McpTab } from './McpTab.tsx';

const LAMPS: Record<PluginState['state'], { lamp: LampState; word: string }> = {
  off: { lamp: 'idle', word: 'Off' },
  on: { lamp: 'live', word: 'On' },
  missing: { lamp: 'waiting', word: 'Not set up' },
  failed: { lamp: 'failed', word: 'Failed' },
};

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

interface ToolHead {
  name: string;
  description: string;
  waits: boolean;
}

/** Every tool that is on. */
function ToolsTab() {
  const [words, setWords] = useState('');
  const list = useLiveList<ToolHead>('/api/tools', 'tools', ['config']);
  const fits = ({ name, description }: ToolHead) =>
    `${name} ${description}`.toLowerCase().includes(words.toLowerCase());
  return (
    <div className="flex flex-col gap-4">
      <TextField
        label="Find a tool"
        type="search"
        value={words}
        onChange={(event) => setWords(event.target.value)}
      />
      <ListPanel
        title="Tools"
        hideTitle
        what="the tools"
        list={{ ...list, items: list.items?.filter(fits) }}
        empty={{
          icon: <Wrench aria-hidden />,
          title: 'No tool fits',
          next: 'Try another word, or look at tools.disabled in the settings.',
        }}
        itemKey={({ name }) => name}
      >
        {(tool) => (
          <li className="flex flex-wrap items-baseline gap-x-3 border-line border-b px-4 py-2 last:border-b-0">
            <code className="text-12">{tool.name}</code>
            {tool.waits && <Badge tone="waiting">asks you</Badge>}
            <span className="min-w-0 flex-1 basis-64 text-muted">{tool.description}</span>
          </li>
        )}
      </ListPanel>
    </div>
  );
}

/** Plugins, each switched on and off; where one lacks something, it says what. */
function PluginsTab() {
  const { config, change, reload } = useConfig();
  const list = useLiveList<PluginState>('/api/plugins', 'plugins', ['config']);
  useLive(['config'], reload);
  const enable = (id: string, on: boolean) => {
    const { enabled, disabled } = config?.plugins ?? { enabled: [], disabled: [] };
    const others = enabled.filter((known) => known !== id);
    void change(
      on ? `${id} is being switched on.` : `${id} is off.`,
      { op: 'set', path: ['plugins', 'enabled'], value: on ? [...others, id] : others },
      { op: 'set', path: ['plugins', 'disabled'], value: disabled.filter((known) => known !== id) },
    );
  };
  return (
    <ListPanel
      title="Plugins"
      hideTitle
      detail="Your own stand in the folder plugins beside the configuration: a plugin.yaml and a module each."
      what="the plugins"
      list={list}
      empty={{ icon: <Plug aria-hidden />, title: 'No plugins', next: 'Put one into the folder plugins.' }}
      itemKey={({ id }) => id}
    >
      {(plugin) => (
        <Row
          plugin={plugin}
          enabled={config?.plugins.enabled.includes(plugin.id) ?? plugin.state !== 'off'}
          onEnable={(on) => enable(plugin.id, on)}
        />
      )}
    </ListPanel>
  );
}

interface RowProps {
  plugin: PluginState;
  enabled: boolean;
  onEnable(on: boolean): void;
}

function Row({ plugin, enabled, onEnable }: RowProps) {
  const { id, description, state, reason, unenforced, tools } = plugin;
  const { lamp, word } = LAMPS[state];
  return (
    <SwitchRow
      name={id}
      lead={<Lamp state={lamp} word={word} />}
      tools={tools}
      enabled={enabled}
      onEnable={onEnable}
    >
      <p className="text-muted">{description}</p>
      {reason && <p className="text-12 text-waiting-text first-letter:uppercase">{reason}</p>}
      {unenforced && (
        <p className="text-12 text-waiting-text">
          Denied but not enforced on this system: {unenforced.join(', ')}
        </p>
      )}
    </SwitchRow>
  );
}

const TRIAL_MS = 70_000;

const FORM: JsonSchema = {
  type: 'object',
  required: ['name', 'type'],
  properties: {
    name: NAME,
    type: {
      title: 'Kind',
      default: 'a2a',
      oneOf: [
        { const: 'a2a', title: 'An agent that speaks A2A' },
        { const: 'compat', title: 'A model with an OpenAI-compatible API' },
        { const: 'acp', title: 'A coding agent that runs as a process (ACP)' },
      ],
    },
    description: { type: 'string', title: 'What it is good at' },
    url: { type: 'string', title: 'Address', format: 'uri', description: 'For A2A and models.' },
    model: { type: 'string', title: 'Model', description: 'For models.' },
    command: { type: 'string', title: 'Command', description: 'For coding agents.' },
    args: { type: 'array', title: 'Arguments', items: { type: 'string' }, description: 'For coding agents.' },
    token: { type: 'string', title: 'Token', format: 'password' },
  },
};

/** Other agents and models that the agent hands work to. */
function DelegatesTab() {
  const { config, change, reload } = useConfig();
  useLive(['config'], reload);
  return (
    <ConnectionList
      title="Delegates"
      detail="The agent asks them with delegate_to."
      noun="Delegate"
      what="a delegate"
      empty={{
        icon: <Users aria-hidden />,
        title: 'No delegates yet',
        next: 'Add another agent by its address, a model, or a coding agent that runs as a process.',
      }}
      entries={config?.delegates}
      path={['delegates']}
      change={change}
      schema={FORM}
      toEntry={({ args, ...rest }) => ({ ...rest, args: linesOf(args) })}
      onTest={useTrial()}
      canTest={({ enabled }) => enabled}
      show={({ type, description, url, command }: Delegate) => ({
        lead: <Badge>{type}</Badge>,
        body: (
          <>
            <p className="text-muted">{description}</p>
            <p className="truncate font-mono text-12 text-muted">{url ?? command}</p>
          </>
        ),
      })}
    />
  );
}

// Asks the delegate whether it is there.
function useTrial() {
  const api = useApi();
  const attempt = useAttempt();
  const toast = useToast();
  return async ({ name }: Delegate): Promise<void> => {
    await attempt(async () => {
      const path = `/api/delegates/${encodeURIComponent(name)}/test`;
      const request = { body: {}, timeLimitMs: TRIAL_MS };
      const { ok, answer } = await api.request<{ ok: boolean; answer: string }>(path, request);
      const title = ok ? `${name} answers.` : `${name} does not answer.`;
      toast({ title, detail: answer.slice(0, 200), state: ok ? 'live' : 'failed' });
    });
  };
}
