import { type Chart, renderChart } from '@trunkline/std/chart';
import { Button, MarkdownTable, type MarkdownTableProps, useWidth } from '@trunkline/ui';
import { ChartColumn } from 'lucide-react';
import { type ReactNode, useEffect, useId, useMemo, useRef, useState } from 'react';
import { chartsOf, tableOf } from './tableCharts.ts';

/** A table that can be shown as a chart if its columns are figures. */
export function ChartedTable({ children, node }: MarkdownTableProps) {
  const id = useId();
  const [isShown, setIsShown] = useState(false);
  const { charts, doubtful } = useMemo(() => chartsOf(node === undefined ? [] : tableOf(node)), [node]);
  if (charts.length === 0) return <MarkdownTable>{children}</MarkdownTable>;
  return (
    <div className="flex min-w-0 flex-col gap-2">
      <MarkdownTable>{children}</MarkdownTable>
      <Button
        size="small"
        icon={<ChartColumn aria-hidden />}
        aria-expanded={isShown}
        aria-controls={id}
        onClick={() => setIsShown(!isShown)}
        className="self-start"
      >
        {isShown ? 'Hide chart' : 'Show as chart'}
      </Button>
      <div id={id} className="flex min-w-0 flex-col gap-2">
        {isShown && charts.map((chart) => <ChartFigure key={chart.title} chart={chart} />)}
        {isShown && (
          <p className="text-12 text-muted">
            Drawn from the table above, which has the sources
            {doubtful > 0 && `; ${countText(doubtful)} marked there as not supported or not checked`}.
          </p>
        )}
      </div>
    </div>
  );
}

function countText(many: number): string {
  return many === 1 ? '1 figure is' : `${many} figures are`;
}

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
