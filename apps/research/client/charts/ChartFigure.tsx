import { type Chart, renderChart } from '@trunkline/std/chart';
import { useWidth } from '@trunkline/ui';
import { type ReactNode, useEffect, useMemo, useRef } from 'react';

const COLOURS = { ink: 'var(--ink)', axis: 'var(--edge)', grid: 'var(--line)', paper: 'var(--raised)' };

/** A chart drawn for the width that is there, in the colours of the page; what stands below it is given. */
export function ChartFigure({ chart, children }: { chart: Chart; children?: ReactNode }) {
  const [frame, width] = useWidth();
  const place = useRef<HTMLDivElement>(null);
  const svg = useMemo(() => renderChart(chart, { width, heading: false, colours: COLOURS }), [chart, width]);
  useEffect(() => {
    const { documentElement } = new DOMParser().parseFromString(svg, 'image/svg+xml');
    place.current?.replaceChildren(documentElement);
  }, [svg]);
  return (
    <figure
      ref={frame}
      className="flex max-w-reading min-w-0 flex-col gap-2 rounded-corner border border-line bg-raised p-3"
    >
      <figcaption className="font-medium text-14 break-words">{chart.title}</figcaption>
      <div ref={place} className="[&>svg]:h-auto [&>svg]:max-w-full [&>svg]:font-sans" />
      {children}
    </figure>
  );
}
