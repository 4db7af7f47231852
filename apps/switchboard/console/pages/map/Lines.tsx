import { useMediaQuery } from '@trunkline/ui';
import { type RefObject, useEffect, useState } from 'react';
import { type ExchangeMap, edgeId, type MapEdge, unique } from './model.ts';

interface LinesProps {
  /** Holds the jacks, each with its id under data-node. */
  board: RefObject<HTMLDivElement | null>;
  map: ExchangeMap;
  /** Further lines that messages took. */
  taken: readonly MapEdge[];
  lit: ReadonlySet<string>;
}

interface DrawnLine {
  id: string;
  path: string;
}

/** The lines between jacks, drawn behind them; only where the columns stand side by side. */
export function Lines({ board, map, taken, lit }: LinesProps) {
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
    const start = [from.right - frame.left, from.top + from.height / 2 - frame.top] as const;
    const end = [to.left - frame.left, to.top + to.height / 2 - frame.top] as const;
    const middle = (start[0] + end[0]) / 2;
    return [
      {
        id: edgeId(edge),
        path: `M${start[0]} ${start[1]} C${middle} ${start[1]} ${middle} ${end[1]} ${end[0]} ${end[1]}`,
      },
    ];
  });
}
