import {
  type KeyboardEvent,
  type PointerEvent,
  type RefObject,
  useEffect,
  useId,
  useRef,
  useState,
} from 'react';
import { cn } from '../lib/cn.ts';

export interface PlotLine {
  name: string;
  /** One for each time; null where nothing was measured. */
  values: readonly (number | null)[];
  tone: 'accent' | 'live' | 'failed' | 'idle';
}

interface PlotProps {
  /** What is plotted: "Tokens". */
  title: string;
  /** Milliseconds since 1970, evenly spaced. */
  times: readonly number[];
  lines: readonly PlotLine[];
  /** A value in words. */
  format(value: number): string;
  /** The times whose values are estimates; they are marked with ≈. */
  estimated?: readonly boolean[] | undefined;
}

const HEIGHT = 180;
const LEAST_LEFT = 68;
/** The width of a letter beside the plot. */
const LETTER = 7.3;
const RIGHT = 8;
const BOTTOM = 24;
const TOP = 10;

const STROKES = {
  accent: 'stroke-accent-strong',
  live: 'stroke-live',
  failed: 'stroke-failed',
  idle: 'stroke-idle',
};
const FILLS = { accent: 'fill-accent-strong', live: 'fill-live', failed: 'fill-failed', idle: 'fill-idle' };
// Lines are told apart by more than their colour.
const DASHES = { accent: undefined, live: '6 3', failed: '2 3', idle: '8 2 2 2' };

/** Lines over time. Pointing at it or the arrow keys tell the values; they can be read as a table too. */
export function Plot({ title, times, lines, format, estimated = [] }: PlotProps) {
  const id = useId();
  const [at, setAt] = useState<number | null>(null);
  const all = lines.flatMap(({ values }) => values.filter((value) => value !== null));
  const { top, ticks } = niceScale(Math.max(0, ...all));
  const [frame, width] = useWidth();
  const left = Math.max(LEAST_LEFT, ...ticks.map((tick) => format(tick).length * LETTER + 12));
  const x = (index: number) => left + (index / Math.max(1, times.length - 1)) * (width - left - RIGHT);
  const y = (value: number) => TOP + (1 - value / top) * (HEIGHT - TOP - BOTTOM);
  const point = (event: PointerEvent<SVGSVGElement>) => {
    const box = event.currentTarget.getBoundingClientRect();
    const share = (event.clientX - box.left - left) / (width - left - RIGHT);
    setAt(Math.min(times.length - 1, Math.max(0, Math.round(share * (times.length - 1)))));
  };
  const step = (event: KeyboardEvent) => {
    const move = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
    if (move === undefined) return;
    event.preventDefault();
    setAt((now) => Math.min(times.length - 1, Math.max(0, (now ?? times.length - 1) + move)));
  };
  return (
    <figure ref={frame} aria-labelledby={id} className="flex min-w-0 flex-col gap-2">
      <figcaption className="flex flex-wrap items-baseline gap-x-4 gap-y-1">
        <span id={id} className="font-medium">
          {title}
        </span>
        <Legend lines={lines} />
        {estimated.includes(true) && <span className="text-12 text-muted">≈ partly estimated</span>}
      </figcaption>
      <svg
        viewBox={`0 0 ${width} ${HEIGHT}`}
        height={HEIGHT}
        role="img"
        aria-label={`${title} over time. Use the arrow keys to read the values.`}
        // biome-ignore lint/a11y/noNoninteractiveTabindex: the values must be within reach of the keyboard
        tabIndex={0}
        onPointerMove={point}
        onPointerLeave={() => setAt(null)}
        onBlur={() => setAt(null)}
        onKeyDown={step}
        className="w-full touch-pan-y rounded-small"
      >
        {ticks.map((tick) => (
          <Tick key={tick} y={y(tick)} left={left} right={width - RIGHT} words={format(tick)} />
        ))}
        <Times times={times} x={x} />
        {lines.map((line) => (
          <Line key={line.name} line={line} x={x} y={y} />
        ))}
        {at !== null && <line x1={x(at)} x2={x(at)} y1={TOP} y2={HEIGHT - BOTTOM} className="stroke-edge" />}
      </svg>
      <p aria-live="polite" className="min-h-5 font-mono text-12 text-muted">
        {at === null
          ? ''
          : readout(times[at], lines, at, (value) => `${estimated[at] ? '≈ ' : ''}${format(value)}`)}
      </p>
    </figure>
  );
}

/** The pixels that are there for a drawing, so that its words keep their size. */
export function useWidth(): [RefObject<HTMLElement | null>, number] {
  const frame = useRef<HTMLElement>(null);
  const [width, setWidth] = useState(480);
  useEffect(() => {
    if (frame.current === null) return;
    const observer = new ResizeObserver(([entry]) =>
      setWidth(Math.max(200, entry?.contentRect.width ?? 480)),
    );
    observer.observe(frame.current);
    return () => observer.disconnect();
  }, []);
  return [frame, width];
}

function readout(
  time: number | undefined,
  lines: readonly PlotLine[],
  at: number,
  format: PlotProps['format'],
): string {
  const values = lines.map(({ name, values: all }) => {
    const value = all[at] ?? null;
    return `${name} ${value === null ? 'none' : format(value)}`;
  });
  return [time === undefined ? '' : clock(time), ...values].join(' · ');
}

function Legend({ lines }: { lines: readonly PlotLine[] }) {
  if (lines.length < 2) return null;
  return (
    <span className="flex flex-wrap gap-x-4 text-12 text-muted">
      {lines.map(({ name, tone }) => (
        <span key={name} className="inline-flex items-center gap-1.5">
          <svg viewBox="0 0 24 4" aria-hidden className="h-1 w-6">
            <line
              x1="0"
              x2="24"
              y1="2"
              y2="2"
              strokeWidth="2"
              strokeDasharray={DASHES[tone]}
              className={STROKES[tone]}
            />
          </svg>
          {name}
        </span>
      ))}
    </span>
  );
}

function Tick({ y, left, right, words }: { y: number; left: number; right: number; words: string }) {
  return (
    <>
      <line x1={left} x2={right} y1={y} y2={y} className="stroke-line" />
      <text x={left - 8} y={y + 4} textAnchor="end" className="fill-muted font-mono text-12">
        {words}
      </text>
    </>
  );
}

function Times({ times, x }: { times: readonly number[]; x(index: number): number }) {
  const shown = [0, Math.floor((times.length - 1) / 2), times.length - 1];
  const anchors = ['start', 'middle', 'end'] as const;
  return shown.map((index, place) => (
    <text
      key={anchors[place]}
      x={x(index)}
      y={HEIGHT - 6}
      textAnchor={anchors[place]}
      className="fill-muted font-mono text-12"
    >
      {clock(times[index] ?? 0)}
    </text>
  ));
}

interface LineProps {
  line: PlotLine;
  x(index: number): number;
  y(value: number): number;
}

function Line({ line: { values, tone }, x, y }: LineProps) {
  return runsOf(values).map((run) => {
    const [only] = run;
    if (run.length === 1 && only) {
      return (
        <circle key={only.index} cx={x(only.index)} cy={y(only.value)} r="2.5" className={FILLS[tone]} />
      );
    }
    return (
      <polyline
        key={run[0]?.index}
        points={run.map(({ index, value }) => `${x(index).toFixed(1)},${y(value).toFixed(1)}`).join(' ')}
        fill="none"
        strokeWidth="2"
        strokeLinejoin="round"
        strokeDasharray={DASHES[tone]}
        className={cn(STROKES[tone])}
      />
    );
  });
}

const clockWords = new Intl.DateTimeFormat('en-GB', { hour: '2-digit', minute: '2-digit' });

function clock(time: number): string {
  return clockWords.format(time);
}

/** The top of an axis and its ticks, in steps that people count in. */
export function niceScale(largest: number, wanted = 4): { top: number; ticks: number[] } {
  if (!(largest > 0)) return { top: 1, ticks: [0, 1] };
  const rough = largest / wanted;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = ([1, 2, 2.5, 5, 10].find((factor) => factor * power >= rough) ?? 10) * power;
  const count = Math.ceil(largest / step - 1e-9);
  const ticks = Array.from({ length: count + 1 }, (_, index) => Number((index * step).toPrecision(12)));
  return { top: count * step, ticks };
}

/** The parts of a line without the points that have no value. */
export function runsOf(values: readonly (number | null)[]): { index: number; value: number }[][] {
  const runs: { index: number; value: number }[][] = [];
  let open: { index: number; value: number }[] | undefined;
  for (const [index, value] of values.entries()) {
    if (value === null) {
      open = undefined;
      continue;
    }
    if (open === undefined) {
      open = [];
      runs.push(open);
    }
    open.push({ index, value });
  }
  return runs;
}
