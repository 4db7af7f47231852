import { Badge, EmptyState, PagedItems, Panel, TextField, usePages } from '@trunkline/ui';
import { Wrench } from 'lucide-react';
import { useState } from 'react';
import { useLive } from '../../app/live.tsx';

interface ToolHead {
  name: string;
  description: string;
  waits: boolean;
}

/** Every tool that is on. */
export function ToolsTab() {
  const [words, setWords] = useState('');
  const list = usePages<ToolHead, { tools: ToolHead[] }>({
    key: 'tools',
    path: () => '/api/tools',
    read: ({ tools }) => ({ items: tools, next: null }),
  });
  useLive(['config'], list.reload);
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
      <Panel title="Tools" flush>
        <PagedItems
          list={list}
          failed="The tools could not be loaded."
          empty={
            <EmptyState
              icon={<Wrench aria-hidden />}
              title="No tools"
              next="All are disabled in the settings."
            />
          }
        >
          {(tools) => (
            <ul>
              {tools.filter(fits).map((tool) => (
                <li
                  key={tool.name}
                  className="flex flex-wrap items-baseline gap-x-3 border-line border-b px-4 py-2 last:border-b-0"
                >
                  <code className="text-12">{tool.name}</code>
                  {tool.waits && <Badge tone="waiting">asks you</Badge>}
                  <span className="min-w-0 flex-1 basis-64 text-muted">{tool.description}</span>
                </li>
              ))}
            </ul>
          )}
        </PagedItems>
      </Panel>
    </div>
  );
}
