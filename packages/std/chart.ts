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

export interface ChartLook {
  /** Pixels; letters keep their size. */
  width?: number;
  /** Whether the title is drawn; it can always be read aloud. */
  heading?: boolean;
  /** Of text, zero line, other lines and background: any colour of CSS, `var(--ink)` too where it is part of a page. */
  colours?: { ink: string; axis: string; grid: string; paper: string };
}

const paper = { ink: '#222222', axis: '#555555', grid: '#dddddd', paper: '#ffffff' };
/** Tableau's ten, which most people can tell apart. */
const colours = ['#4e79a7', '#f28e2b', '#59a14f', '#e15759', '#76b7b2', '#edc948', '#b07aa1', '#9c755f'];
const longestLabel = 24;
/** Of one letter, in pixels. */
const letter = 6.6;
const rightMargin = 16;
const lineHeight = 20;
/** Charts narrower than this are lower, and pies have their keys below. */
const narrow = 560;
const longestDescription = 2000;

/** A chart as SVG: shapes and escaped text alone, without scripts, links, styles or anything from elsewhere. */
export function renderChart(chart: Chart, look: ChartLook = {}): string {
  const drawing: Drawing = {
    chart,
    width: Math.max(240, Math.round(look.width ?? 720)),
    top: look.heading === false ? 16 : 56,
    colours: look.colours ?? paper,
  };
  const { height, parts } = chart.type === 'pie' ? pieParts(drawing) : plotParts(drawing);
  const { width, colours: used } = drawing;
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}" viewBox="0 0 ${width} ${height}" role="img" font-family="sans-serif" font-size="12" fill="${escaped(used.ink)}">`,
    `<title>${escaped(chart.title)}</title>`,
    `<desc>${escaped(describe(chart))}</desc>`,
    `<rect width="${width}" height="${height}" fill="${escaped(used.paper)}"/>`,
    ...(look.heading === false
      ? []
      : [
          `<text x="${width / 2}" y="24" font-size="16" text-anchor="middle">${escaped(chart.title.slice(0, Math.floor(width / 8)))}</text>`,
        ]),
    ...parts,
    '</svg>',
  ].join('\n');
}

interface Drawing {
  chart: Chart;
  width: number;
  /** Pixels above the plot. */
  top: number;
  colours: NonNullable<ChartLook['colours']>;
}

interface Parts {
  height: number;
  parts: string[];
}

/** What the chart shows, for those who do not see it. */
function describe({ type, labels, series, unit = '' }: Chart): string {
  const shown = type === 'pie' ? series.slice(0, 1) : series;
  const figures = shown.map(({ name, values }) => {
    const pairs = labels.map((label, index) => `${label} ${values[index] ?? 'none'}`);
    return `${name}: ${pairs.join(', ')}.`;
  });
  const words = [`A ${type} chart${unit === '' ? '' : ` in ${unit}`}.`, ...figures].join(' ');
  return words.length > longestDescription ? `${words.slice(0, longestDescription - 1)}…` : words;
}

function plotParts({ chart, width, top, colours: used }: Drawing): Parts {
  const { type, labels, series, unit = '' } = chart;
  const values = series.flatMap((each) => each.values.filter((value) => value !== null));
  const keys = legend(chart, width);
  const below = 56 + Math.max(0, keys.rows - 1) * lineHeight;
  const height = (width < narrow ? 300 : 420) - (56 - top) + (below - 56);
  const y = scaleLinear()
    .domain([Math.min(0, ...values), values.every((value) => value === 0) ? 1 : Math.max(0, ...values)])
    .nice()
    .range([height - below, top]);
  const format = y.tickFormat(6);
  const ticks = y
    .ticks(6)
    .map((tick) => ({ tick, words: short(`${format(tick)}${unit === '' ? '' : ` ${unit}`}`) }));
  const left = Math.ceil(Math.max(64, ...ticks.map(({ words }) => words.length * letter + 16)));
  const grid = ticks.flatMap(({ tick, words }) => [
    `<line x1="${left}" x2="${width - rightMargin}" y1="${round(y(tick))}" y2="${round(y(tick))}" stroke="${escaped(tick === 0 ? used.axis : used.grid)}"/>`,
    text(words, left - 8, y(tick) + 4, 'end'),
  ]);
  const range: [number, number] = [left, width - rightMargin];
  const places = labels.map((_, index) => String(index));
  const bands = scaleBand(places, range).padding(0.2);
  const points = scalePoint(places, range).padding(0.5);
  const middle = (index: number) =>
    type === 'bar' ? (bands(String(index)) ?? 0) + bands.bandwidth() / 2 : (points(String(index)) ?? 0);
  const room = (range[1] - range[0]) / labels.length;
  const every = Math.ceil(53 / room);
  const names = labels.flatMap((label, index) =>
    index % every === 0
      ? [text(short(label, (room * every) / letter), middle(index), height - below + 18, 'middle')]
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
        const [high, low] = [y(Math.max(0, value)), y(Math.min(0, value))];
        const x = (bands(String(index)) ?? 0) + (inner(String(at)) ?? 0);
        return `<rect x="${round(x)}" y="${round(high)}" width="${round(inner.bandwidth())}" height="${round(low - high)}" fill="${colour}"/>`;
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
  return { height, parts: [...grid, ...names, ...shapes, ...keys.draw(left, height - below + 42)] };
}

function pieParts({ chart: { labels, series }, width, top, colours: used }: Drawing): Parts {
  const values = (series[0]?.values ?? []).map((value) => Math.max(0, value ?? 0));
  const total = values.reduce((sum, value) => sum + value, 0) || 1;
  const isBeside = width >= narrow;
  const radius = isBeside ? 150 : Math.min(110, width / 2 - 16);
  const [x, y] = isBeside ? [width / 2 - 110, top + 24 + radius] : [width / 2, top + radius];
  const slices = pie<number>().sort(null)(values);
  const shape = arc<(typeof slices)[number]>().innerRadius(0).outerRadius(radius);
  const paths = slices.map(
    (slice, index) =>
      `<path d="${shape(slice) ?? ''}" fill="${colourOf(index)}" stroke="${escaped(used.paper)}"/>`,
  );
  const [keysLeft, keysTop] = isBeside ? [width / 2 + 90, top + 44] : [16, y + radius + 28];
  const keys = labels.map((label, index) => {
    const share = `${(((values[index] ?? 0) / total) * 100).toFixed(1)} %`;
    return key(`${short(label)} ${share}`, index, keysLeft, keysTop + index * 22);
  });
  return {
    height: Math.ceil(Math.max(y + radius + 40, keysTop + labels.length * 22)),
    parts: [`<g transform="translate(${round(x)},${round(y)})">${paths.join('')}</g>`, ...keys],
  };
}

/** Names of the series in as many columns as there is room for. */
function legend(
  { series }: Chart,
  width: number,
): { rows: number; draw(left: number, top: number): string[] } {
  if (series.length < 2) return { rows: 0, draw: () => [] };
  const names = series.map(({ name }) => short(name));
  const step = Math.max(...names.map((name) => name.length)) * letter + 34;
  const columns = Math.max(1, Math.floor((width - 64 - rightMargin) / step));
  return {
    rows: Math.ceil(names.length / columns),
    draw: (left, top) =>
      names.map((name, index) =>
        key(name, index, left + (index % columns) * step, top + Math.floor(index / columns) * lineHeight),
      ),
  };
}

function key(words: string, index: number, x: number, y: number): string {
  return `<rect x="${round(x)}" y="${round(y - 10)}" width="12" height="12" fill="${colourOf(index)}"/>${text(words, x + 18, y)}`;
}

function text(words: string, x: number, y: number, anchor = 'start'): string {
  return `<text x="${round(x)}" y="${round(y)}" text-anchor="${anchor}">${escaped(words)}</text>`;
}

const colourOf = (index: number) => colours[index % colours.length] ?? '#4e79a7';
const round = (value: number) => Math.round(value * 10) / 10;

function short(words: string, room = longestLabel): string {
  const most = Math.max(4, Math.min(longestLabel, Math.floor(room)));
  return words.length > most ? `${words.slice(0, most - 1)}…` : words;
}

/** Control characters are not allowed in XML at all. */
function escaped(words: string): string {
  return words
    .replace(/[^\t\n\r\u{20}-\u{d7ff}\u{e000}-\u{fffd}\u{10000}-\u{10ffff}]/gu, '')
    .replace(/&/g, '&amp;')
    .replace(/</g, '&lt;')
    .replace(/>/g, '&gt;')
    .replace(/"/g, '&quot;');
}
