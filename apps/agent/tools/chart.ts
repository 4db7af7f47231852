import { scaleBand, scaleLinear, scalePoint } from 'd3-scale';
import { arc, area, line, pie } from 'd3-shape';

interface Series {
  name: string;
  values: readonly (number | null)[];
}

export interface Chart {
  type: 'bar' | 'line' | 'area' | 'pie';
  title: string;
  /** One for each value of a series. */
  labels: readonly string[];
  series: readonly Series[];
  unit?: string | undefined;
}

const [width, height] = [720, 420];
const plot = { left: 64, right: 16, top: 56, bottom: 56 };
/** Tableau's ten, which most people can tell apart. */
const colours = ['#4e79a7', '#f28e2b', '#59a14f', '#e15759', '#76b7b2', '#edc948', '#b07aa1', '#9c755f'];
const longestLabel = 24;

/** A chart as SVG: shapes and escaped text alone, without scripts, links, styles or anything from elsewhere. */
export function renderChart(chart: Chart): string {
  const body = chart.type === 'pie' ? pieParts(chart) : plotParts(chart);
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}" viewBox="0 0 ${width} ${height}" role="img" font-family="sans-serif" font-size="12">`,
    `<title>${escaped(chart.title)}</title>`,
    `<rect width="${width}" height="${height}" fill="#ffffff"/>`,
    text(chart.title, { x: width / 2, y: 24, size: 16, anchor: 'middle' }),
    ...body,
    ...legend(chart),
    '</svg>',
  ].join('\n');
}

function plotParts({ type, labels, series, unit = '' }: Chart): string[] {
  const values = series.flatMap((each) => each.values.filter((value) => value !== null));
  const y = scaleLinear()
    .domain([Math.min(0, ...values), values.every((value) => value === 0) ? 1 : Math.max(0, ...values)])
    .nice()
    .range([height - plot.bottom, plot.top]);
  const format = y.tickFormat(6);
  const grid = y.ticks(6).flatMap((tick) => [
    `<line x1="${plot.left}" x2="${width - plot.right}" y1="${round(y(tick))}" y2="${round(y(tick))}" stroke="${tick === 0 ? '#555555' : '#dddddd'}"/>`,
    text(`${format(tick)}${unit === '' ? '' : ` ${unit}`}`, {
      x: plot.left - 8,
      y: y(tick) + 4,
      anchor: 'end',
    }),
  ]);
  const range: [number, number] = [plot.left, width - plot.right];
  const places = labels.map((_, index) => String(index));
  const bands = scaleBand(places, range).padding(0.2);
  const points = scalePoint(places, range).padding(0.5);
  const middle = (index: number) =>
    type === 'bar' ? (bands(String(index)) ?? 0) + bands.bandwidth() / 2 : (points(String(index)) ?? 0);
  const every = Math.ceil(labels.length / 12);
  const names = labels.flatMap((label, index) =>
    index % every === 0
      ? [text(label, { x: middle(index), y: height - plot.bottom + 18, anchor: 'middle' })]
      : [],
  );
  const shapes = series.flatMap(({ values: own }, at) => {
    const colour = colourOf(at);
    if (type === 'bar') {
      const inner = scaleBand(
        series.map((_, index) => String(index)),
        [0, bands.bandwidth()],
      ).padding(0.05);
      return own.flatMap((value, index) => {
        if (value === null) return [];
        const [top, bottom] = [y(Math.max(0, value)), y(Math.min(0, value))];
        const x = (bands(String(index)) ?? 0) + (inner(String(at)) ?? 0);
        return `<rect x="${round(x)}" y="${round(top)}" width="${round(inner.bandwidth())}" height="${round(bottom - top)}" fill="${colour}"/>`;
      });
    }
    const isGiven = (value: number | null) => value !== null;
    const path = line<number | null>()
      .defined(isGiven)
      .x((_, index) => middle(index))
      .y((value) => y(value ?? 0))(own);
    const filled = area<number | null>()
      .defined(isGiven)
      .x((_, index) => middle(index))
      .y0(y(0))
      .y1((value) => y(value ?? 0))(own);
    return [
      ...(type === 'area' ? [`<path d="${filled ?? ''}" fill="${colour}" fill-opacity="0.3"/>`] : []),
      `<path d="${path ?? ''}" fill="none" stroke="${colour}" stroke-width="2"/>`,
      ...own.flatMap((value, index) =>
        value === null || own.length > 60
          ? []
          : `<circle cx="${round(middle(index))}" cy="${round(y(value))}" r="3" fill="${colour}"/>`,
      ),
    ];
  });
  return [...grid, ...names, ...shapes];
}

function pieParts({ labels, series }: Chart): string[] {
  const values = (series[0]?.values ?? []).map((value) => Math.max(0, value ?? 0));
  const total = values.reduce((sum, value) => sum + value, 0) || 1;
  const [x, y, radius] = [250, 230, 150];
  const slices = pie<number>().sort(null)(values);
  const shape = arc<(typeof slices)[number]>().innerRadius(0).outerRadius(radius);
  const paths = slices.map(
    (slice, index) => `<path d="${shape(slice) ?? ''}" fill="${colourOf(index)}" stroke="#ffffff"/>`,
  );
  const keys = labels.map((label, index) => {
    const share = `${(((values[index] ?? 0) / total) * 100).toFixed(1)} %`;
    return key(`${short(label)} ${share}`, index, 450, 100 + index * 22);
  });
  return [`<g transform="translate(${x},${y})">${paths.join('')}</g>`, ...keys];
}

function legend({ type, series }: Chart): string[] {
  if (type === 'pie' || series.length < 2) return [];
  const step = (width - plot.left - plot.right) / series.length;
  return series.map(({ name }, index) => key(short(name), index, plot.left + index * step, height - 14));
}

function key(words: string, index: number, x: number, y: number): string {
  return `<rect x="${round(x)}" y="${round(y - 10)}" width="12" height="12" fill="${colourOf(index)}"/>${text(words, { x: x + 18, y })}`;
}

function text(
  words: string,
  { x, y, size = 12, anchor = 'start' }: { x: number; y: number; size?: number; anchor?: string },
): string {
  const shown = size > 12 ? words.slice(0, 90) : short(words);
  return `<text x="${round(x)}" y="${round(y)}" font-size="${size}" text-anchor="${anchor}" fill="#222222">${escaped(shown)}</text>`;
}

const colourOf = (index: number) => colours[index % colours.length] ?? '#4e79a7';
const round = (value: number) => Math.round(value * 10) / 10;
const short = (words: string) =>
  words.length > longestLabel ? `${words.slice(0, longestLabel - 1)}…` : words;

/** Control characters are not allowed in XML at all. */
function escaped(words: string): string {
  return words
    .replace(/[^\t\n\r\u{20}-\u{d7ff}\u{e000}-\u{fffd}\u{10000}-\u{10ffff}]/gu, '')
    .replace(/&/g, '&amp;')
    .replace(/</g, '&lt;')
    .replace(/>/g, '&gt;')
    .replace(/"/g, '&quot;');
}
