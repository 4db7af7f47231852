import { Button, MarkdownTable, type MarkdownTableProps } from '@trunkline/ui';
import { ChartColumn } from 'lucide-react';
import { useId, useMemo, useState } from 'react';
import { ChartFigure } from './ChartFigure.tsx';
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
