import { Badge, ListPanel, TextField } from '@trunkline/ui';
import { Wrench } from 'lucide-react';
import { useState } from 'react';
import { useWholeList } from '../../app/useWholeList.ts';

interface ToolHead {
  name: string;
  description: string;
  waits: boolean;
}

/** Every tool that is on. */
export function ToolsTab() {
  const [words, setWords] = useState('');
  const list = useWholeList<ToolHead>('/api/tools', 'tools', ['config']);
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
