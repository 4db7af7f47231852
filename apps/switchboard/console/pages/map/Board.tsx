import { hashRoute, Lamp } from '@trunkline/ui';
import { useRef } from 'react';
import { Lines } from './Lines.tsx';
import type { Column, ExchangeMap, MapNode } from './model.ts';
import type { Lights } from './useLights.ts';

const COLUMNS: readonly { id: Column; title: string; none: string }[] = [
  { id: 'surfaces', title: 'Surfaces', none: 'None' },
  { id: 'topics', title: 'Topics', none: 'None' },
  { id: 'agents', title: 'Agents', none: 'No agents yet: add one under Agents.' },
  { id: 'tools', title: 'Tools', none: 'No tools yet: add an MCP server.' },
];

interface BoardProps {
  map: ExchangeMap;
  lights: Lights;
}

/** Four columns of jacks with lines between them; on a phone the columns stand one below the other, without lines. */
export function Board({ map, lights }: BoardProps) {
  const place = useRef<HTMLDivElement>(null);
  return (
    <div
      ref={place}
      className="relative grid gap-x-10 gap-y-6 rounded-corner border border-line bg-raised p-4 lg:grid-cols-[3fr_5fr_4fr_4fr] lg:gap-x-12 lg:p-6 xl:gap-x-20"
    >
      <Lines board={place} map={map} taken={lights.taken} lit={lights.lit} />
      {COLUMNS.map(({ id, title, none }) => {
        const nodes = map.nodes.filter(({ column }) => column === id);
        return (
          <section key={id} aria-labelledby={`column-${id}`} className="relative min-w-0">
            <h2 id={`column-${id}`} className="pb-3 text-12 text-muted">
              {title}
            </h2>
            <ul className="flex flex-col gap-2">
              {nodes.map((node) => (
                <Jack
                  key={node.id}
                  node={node}
                  lit={lights.lit.has(node.id)}
                  count={lights.counts.get(node.id) ?? 0}
                />
              ))}
            </ul>
            {nodes.length === 0 && <p className="text-12 text-muted">{none}</p>}
          </section>
        );
      })}
    </div>
  );
}

const WORDS = { live: 'On', idle: 'Off', failed: 'Failed', waiting: 'Waits' } as const;

function Jack({ node, lit, count }: { node: MapNode; lit: boolean; count: number }) {
  return (
    <li>
      <a
        data-node={node.id}
        data-lit={lit || undefined}
        title={node.name}
        href={hashRoute(...node.href)}
        className="flex min-h-9 items-center gap-2 rounded-corner border border-line bg-paper px-3 py-1.5 transition-colors hover:border-edge data-lit:border-accent-strong data-lit:bg-accent-wash pointer-coarse:min-h-11"
      >
        <Lamp state={node.state} word={WORDS[node.state]} dotOnly size="small" />
        <span
          className={`min-w-0 flex-1 truncate ${node.column === 'topics' || node.column === 'tools' ? 'font-mono text-12' : 'text-14'} ${node.state === 'idle' ? 'text-muted' : ''}`}
        >
          {node.name}
        </span>
        {count > 0 && (
          <span className="font-mono text-12 text-muted">
            {count}
            <span className="sr-only"> messages</span>
          </span>
        )}
      </a>
    </li>
  );
}
