import { hashRoute, Lamp, useMediaQuery } from '@trunkline/ui';
import { Fragment, type RefObject, useEffect, useRef, useState } from 'react';
import { type Column, type ExchangeMap, edgeId, type MapEdge, type MapNode, unique } from './model.ts';
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

/** Four columns of nodes with lines between them; on a phone the columns stack, without lines. */
export function Board({ map, lights }: BoardProps) {
  const place = useRef<HTMLDivElement>(null);
  return (
    <div
      ref={place}
      className="relative grid gap-x-10 gap-y-6 rounded-corner border border-line bg-raised p-4 lg:grid-cols-[4fr_5fr_4fr_4fr] lg:gap-x-8 xl:gap-x-12 xl:p-6 2xl:gap-x-20"
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
        title={node.name === node.label ? node.label : `${node.label} (${node.name})`}
        href={hashRoute(...node.href)}
        className="flex min-h-9 items-center gap-2 rounded-corner border border-line bg-paper px-3 py-1.5 lg:px-2 xl:px-3 transition-colors hover:border-edge data-lit:border-accent-strong data-lit:bg-accent-wash pointer-coarse:min-h-11"
      >
        <Lamp state={node.state} word={WORDS[node.state]} dotOnly size="small" />
        <span
          className={`min-w-0 flex-1 leading-snug [overflow-wrap:anywhere] ${node.column === 'topics' ? 'font-mono text-12' : 'text-14'} ${node.state === 'idle' ? 'text-muted' : ''}`}
        >
          {breakable(node.label)}
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

/** A long name breaks behind its dots and dashes first. */
function breakable(label: string) {
  const parts = label.split(/(?<=[.\-_/])/);
  return parts.map((part, at) => (
    <Fragment key={parts.slice(0, at + 1).join('')}>
      {part}
      <wbr />
    </Fragment>
  ));
}

interface LinesProps {
  /** Contains the nodes, each with its id in data-node. */
  board: RefObject<HTMLDivElement | null>;
  map: ExchangeMap;
  taken: readonly MapEdge[];
  lit: ReadonlySet<string>;
}

interface DrawnLine {
  id: string;
  path: string;
}

/** Drawn behind the nodes, only where the columns stand side by side. */
function Lines({ board, map, taken, lit }: LinesProps) {
  const sideBySide = useMediaQuery('(min-width: 64rem)');
  const [lines, setLines] = useState<readonly DrawnLine[]>([]);
  useEffect(() => {
    const element = board.current;
    if (element === null || !sideBySide) return setLines([]);
    const draw = () => setLines(drawn(element, unique([...map.edges, ...taken])));
    const observer = new ResizeObserver(draw);
    observer.observe(element);
    draw();
    return () => observer.disconnect();
  }, [board, map, taken, sideBySide]);
  return (
    <svg aria-hidden className="pointer-events-none absolute inset-0 size-full">
      {[...lines]
        .sort((one, other) => Number(lit.has(one.id)) - Number(lit.has(other.id)))
        .map(({ id, path }) => (
          <path
            key={id}
            d={path}
            data-line={id}
            data-lit={lit.has(id) || undefined}
            fill="none"
            strokeLinecap="round"
            className="stroke-line-strong stroke-1 transition-colors data-lit:animate-run-along data-lit:stroke-accent-strong data-lit:stroke-2 data-lit:[stroke-dasharray:10_6]"
          />
        ))}
    </svg>
  );
}

/** How far a line within a column reaches out, in pixels. */
const LOOP = 28;

function drawn(board: HTMLElement, edges: readonly MapEdge[]): DrawnLine[] {
  const frame = board.getBoundingClientRect();
  const jacks = new Map(
    [...board.querySelectorAll<HTMLElement>('[data-node]')].map((jack) => [
      jack.dataset.node,
      jack.getBoundingClientRect(),
    ]),
  );
  return edges.flatMap((edge) => {
    const [from, to] = [jacks.get(edge.from), jacks.get(edge.to)];
    if (from === undefined || to === undefined) return [];
    const isBeside = from.left === to.left;
    const start = [from.right - frame.left, from.top + from.height / 2 - frame.top] as const;
    const end = [(isBeside ? to.right : to.left) - frame.left, to.top + to.height / 2 - frame.top] as const;
    // A line within a column goes around its right side.
    const middle = isBeside ? start[0] + LOOP : (start[0] + end[0]) / 2;
    return [
      {
        id: edgeId(edge),
        path: `M${start[0]} ${start[1]} C${middle} ${start[1]} ${middle} ${end[1]} ${end[0]} ${end[1]}`,
      },
    ];
  });
}
