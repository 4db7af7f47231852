import {
  type Column,
  countOf,
  dollars,
  duration,
  EmptyState,
  ErrorState,
  Panel,
  Plot,
  SelectField,
  Skeleton,
  Table,
  useResource,
} from '@trunkline/ui';
import { ChartLine } from 'lucide-react';
import { useState } from 'react';
import type { Telemetry } from '../../../activity/telemetry.ts';
import { useLive } from '../../app/live.ts';
import { PageFrame } from '../../shared/AgentShell.tsx';

type Report = ReturnType<Telemetry['report']>;
type Point = ReturnType<Telemetry['series']>['points'][number];
type ModelFigures = Report['models'][number];

const SPANS = [
  { value: '60', label: 'The last hour' },
  { value: '360', label: 'The last 6 hours' },
  { value: '1440', label: 'The last day' },
  { value: '10080', label: 'The last week' },
  { value: '43200', label: 'The last 30 days' },
];
const STEPS = 60;

/** What the model costs and how fast it is. */
export default function TelemetryPage() {
  const [minutes, setMinutes] = useState('60');
  const series = useResource<{ points: Point[] }>(`/api/telemetry/series?minutes=${minutes}&steps=${STEPS}`, {
    refreshMs: 60_000,
  });
  const report = useResource<Report>('/api/telemetry');
  useLive(['telemetry'], () => {
    series.reload();
    report.reload();
  });
  const error = series.error ?? report.error;
  const used = report.body !== undefined && report.body.models.length > 0;
  return (
    <PageFrame
      title="Telemetry"
      intro="Calls of the model, kept for 30 days: what they cost, how many tokens, how long they took."
      actions={
        <SelectField
          className="w-44"
          label="Span"
          options={SPANS}
          value={minutes}
          onChange={(event) => setMinutes(event.target.value)}
        />
      }
    >
      {error && (
        <ErrorState what="The figures could not be loaded." why={error.message} todo={error.advice} />
      )}
      {report.body === undefined && !error && <Skeleton rows={8} />}
      {report.body && !used && (
        <EmptyState
          icon={<ChartLine aria-hidden />}
          title="No call of the model yet"
          next="Ask for something in the chat, then come back."
        />
      )}
      {used && series.body && <Plots points={series.body.points} />}
      {used && report.body && <Models report={report.body} />}
    </PageFrame>
  );
}

interface PlotSpec {
  title: string;
  /** Whether it counts tokens, which some endpoints do not tell. */
  isEstimated?: true;
  format(value: number): string;
  lines: { name: string; tone: 'accent' | 'live' | 'failed'; read(point: Point): number | null }[];
}

const PLOTS: readonly PlotSpec[] = [
  {
    title: 'Cost',
    isEstimated: true,
    format: dollars,
    lines: [{ name: 'Cost', tone: 'accent', read: ({ cost_usd }) => cost_usd }],
  },
  {
    title: 'Tokens',
    isEstimated: true,
    format: countOf,
    lines: [
      { name: 'In', tone: 'accent', read: ({ input_tokens }) => input_tokens },
      { name: 'Out', tone: 'live', read: ({ output_tokens }) => output_tokens },
    ],
  },
  {
    title: 'Latency',
    format: duration,
    lines: [
      { name: 'Half are faster than', tone: 'accent', read: ({ latency_ms }) => latency_ms?.p50 ?? null },
      { name: '95 % are faster than', tone: 'live', read: ({ latency_ms }) => latency_ms?.p95 ?? null },
    ],
  },
  {
    title: 'Calls',
    format: countOf,
    lines: [
      { name: 'Calls', tone: 'accent', read: ({ calls }) => calls },
      { name: 'Failed', tone: 'failed', read: ({ errors }) => errors },
    ],
  },
];

function Plots({ points }: { points: readonly Point[] }) {
  const times = points.map(({ at }) => Date.parse(at));
  return (
    <div className="grid gap-4 lg:grid-cols-2">
      {PLOTS.map(({ title, format, lines, isEstimated }) => (
        <div key={title} className="min-w-0 rounded-corner border border-line bg-raised p-4">
          <Plot
            title={title}
            times={times}
            format={format}
            estimated={isEstimated && points.map(({ calls_estimated }) => calls_estimated > 0)}
            lines={lines.map(({ read, ...line }) => ({ ...line, values: points.map(read) }))}
          />
        </div>
      ))}
    </div>
  );
}

/** Endpoints that count no tokens are estimated. */
function about({ calls_estimated }: Pick<ModelFigures, 'calls_estimated'>): string {
  return calls_estimated > 0 ? '≈ ' : '';
}

type Spent = Pick<ModelFigures, 'cost_usd' | 'calls_estimated' | 'calls_without_price'>;

function costWords(figures: Spent): string {
  const { cost_usd, calls_without_price } = figures;
  const estimate = cost_usd > 0 ? about(figures) : '';
  return `${estimate}${dollars(cost_usd)}${calls_without_price > 0 ? ' or more' : ''}`;
}

const COLUMNS: readonly Column<ModelFigures>[] = [
  { id: 'model', header: 'Model', cell: ({ model }) => <span className="font-mono text-12">{model}</span> },
  { id: 'calls', header: 'Calls', align: 'right', cell: ({ calls }) => countOf(calls) },
  { id: 'errors', header: 'Failed', align: 'right', cell: ({ errors }) => countOf(errors) },
  {
    id: 'in',
    header: 'Tokens in',
    align: 'right',
    cell: (figures) => `${about(figures)}${countOf(figures.input_tokens)}`,
  },
  {
    id: 'out',
    header: 'Tokens out',
    align: 'right',
    cell: (figures) => `${about(figures)}${countOf(figures.output_tokens)}`,
  },
  { id: 'cost', header: 'Cost', align: 'right', cell: costWords },
  { id: 'p95', header: '95 % within', align: 'right', cell: ({ latency_ms }) => duration(latency_ms.p95) },
];

function Models({ report }: { report: Report }) {
  const total = (read: (figures: ModelFigures) => number) =>
    report.models.reduce((sum, figures) => sum + read(figures), 0);
  const inAll = costWords({
    cost_usd: report.cost_usd,
    calls_estimated: total(({ cost_usd, calls_estimated }) => (cost_usd > 0 ? calls_estimated : 0)),
    calls_without_price: total(({ calls_without_price }) => calls_without_price),
  });
  return (
    <Panel title="By model" detail={`${inAll} in all`} flush>
      <Table caption="Figures by model" columns={COLUMNS} rows={report.models} rowId={({ model }) => model} />
    </Panel>
  );
}
