import { Badge, IconButton, Lamp, SwitchField } from '@trunkline/ui';
import { RadioTower, Trash2 } from 'lucide-react';
import { useState } from 'react';
import type { McpServerView } from '../../../api-types.ts';
import { useSend, useUndoLast } from '../../shared/useList.ts';
import { useTrial } from './useTrial.ts';

interface ServerRowProps {
  server: McpServerView;
  tools: readonly string[];
  onChanged(): void;
}

const MOST_SHOWN = 12;

export function ServerRow({ server, tools, onChanged }: ServerRowProps) {
  const { name, trust, url, command, args = [], enabled, error, stderr } = server;
  const send = useSend();
  const undoLast = useUndoLast();
  const tryOut = useTrial();
  const [testing, setTesting] = useState(false);
  const path = `/api/mcp-servers/${encodeURIComponent(name)}`;
  const enable = async (on: boolean) => {
    const title = on ? `${name} is switched on.` : `${name} is switched off.`;
    if (await send(`${path}/enabled`, { title, body: { enabled: on } })) onChanged();
  };
  const test = async () => {
    setTesting(true);
    await tryOut(`${path}/test`, name, {});
    setTesting(false);
  };
  const remove = () =>
    void send(path, {
      method: 'DELETE',
      title: `${name} is removed.`,
      undo: () => undoLast('mcp', name),
    });
  return (
    <li className="flex flex-wrap items-center gap-3 border-line border-b px-4 py-3 last:border-b-0">
      <div className="min-w-0 flex-1 basis-64">
        <p className="flex flex-wrap items-center gap-x-3 font-medium">
          {name} <State enabled={enabled} connected={tools.length > 0} /> <Badge>{trust}</Badge>
        </p>
        <p className="truncate font-mono text-12 text-muted">{url ?? [command, ...args].join(' ')}</p>
        {enabled && error && (
          <p className="text-12 break-words text-waiting-text first-letter:uppercase">{error}</p>
        )}
        {enabled && stderr && (
          <pre className="whitespace-pre-wrap break-words font-mono text-12 text-muted">{stderr}</pre>
        )}
        <p className="mt-1 flex flex-wrap gap-1">
          {tools.slice(0, MOST_SHOWN).map((tool) => (
            <Badge key={tool}>{tool}</Badge>
          ))}
          {tools.length > MOST_SHOWN && <Badge>and {tools.length - MOST_SHOWN} more</Badge>}
        </p>
      </div>
      <SwitchField label={`Use ${name}`} checked={enabled} onChange={(on) => void enable(on)} />
      <div className="flex">
        <IconButton
          small
          label={`Test ${name}`}
          icon={<RadioTower aria-hidden />}
          disabled={testing}
          onClick={() => void test()}
        />
        <IconButton small label={`Remove ${name}`} icon={<Trash2 aria-hidden />} onClick={remove} />
      </div>
    </li>
  );
}

function State({ enabled, connected }: { enabled: boolean; connected: boolean }) {
  if (!enabled) return <Lamp state="idle" word="Off" />;
  return connected ? <Lamp state="live" word="Connected" /> : <Lamp state="waiting" word="Not connected" />;
}
