import { describe, expect, it } from 'vitest';
import { type Chart, renderChart } from './chart.ts';

const chart: Chart = {
  type: 'line',
  title: 'Rain',
  labels: ['May', 'June', 'July'],
  series: [
    { name: 'Bern', values: [10, null, 30] },
    { name: 'Rome', values: [-5, 5, 0] },
  ],
};

describe('charts', () => {
  it.each(['bar', 'line', 'area', 'pie'] as const)('of %s hold numbers that are numbers', (type) => {
    const svg = renderChart({ ...chart, type });
    expect(svg).toMatch(/^<svg [^>]*viewBox="0 0 720 420"/);
    expect(svg).not.toMatch(/NaN|undefined|null|Infinity/);
  });

  it('draw bars to scale from the zero line, up and down', () => {
    const svg = renderChart({
      ...chart,
      type: 'bar',
      labels: ['a', 'b'],
      series: [{ name: 's', values: [20, -10] }],
    });
    const bars = [...svg.matchAll(/<rect x="([\d.]+)" y="([\d.]+)" width="[\d.]+" height="([\d.]+)"/g)].map(
      ([, x, y, height]) => ({ x: Number(x), y: Number(y), height: Number(height) }),
    );
    const [up, down] = bars;
    expect(up?.height).toBeCloseTo((down?.height ?? 0) * 2, 0);
    expect((up?.y ?? 0) + (up?.height ?? 0)).toBeCloseTo(down?.y ?? 0, 0);
  });

  it('draw losses alone down to the lowest, not below an empty axis', () => {
    const losses = {
      ...chart,
      type: 'bar' as const,
      labels: ['a'],
      series: [{ name: 's', values: [-0.05] }],
    };
    const [, height] =
      /<rect x="[\d.]+" y="[\d.]+" width="[\d.]+" height="([\d.]+)"/.exec(renderChart(losses)) ?? [];
    expect(Number(height)).toBeGreaterThan(200);
  });

  it('escape what they are given, and hold nothing that runs or loads', () => {
    const evil = '"><script>alert(1)</script><image href="http://a.example/x"/>\u0000\u0007';
    const svg = renderChart({
      ...chart,
      title: evil,
      labels: [evil, evil, evil],
      series: [{ name: evil, values: [1, 2, 3] }],
    });
    expect(svg).not.toMatch(/<(?:script|image|a|style|foreignObject)\b/);
    expect([...svg].filter((sign) => sign < ' ' && sign !== '\n')).toEqual([]);
    expect(svg).toContain('&lt;script&gt;');
  });

  it('say in words what they show', () => {
    const svg = renderChart({ ...chart, unit: 'mm' });
    expect(svg).toContain('<title>Rain</title>');
    expect(svg).toContain(
      '<desc>A line chart in mm. Bern: May 10, June none, July 30. Rome: May -5, June 5, July 0.</desc>',
    );
  });

  it.each(['bar', 'pie'] as const)('of %s fit a phone: nothing is drawn beyond the edge', (type) => {
    const labels = Array.from({ length: 12 }, (_, index) => `A rather long label ${index}`);
    const series = ['First series of figures', 'Second series of figures', 'Third'].map((name) => ({
      name,
      values: labels.map((_, index) => index * 1_000_000),
    }));
    const svg = renderChart(
      { type, title: 'Wide', labels, series, unit: 'megawatts' },
      { width: 358, heading: false },
    );
    const [, height] = /viewBox="0 0 358 (\d+)"/.exec(svg) ?? [];
    const texts = [...svg.matchAll(/<text x="([\d.]+)" y="([\d.]+)" text-anchor="(\w+)">([^<]*)</g)].map(
      ([, x, y, anchor, words = '']) => {
        const share = { start: 0, middle: 0.5, end: 1 }[anchor as 'start'];
        const left = Number(x) - words.length * 6 * share;
        return { left, right: left + words.length * 6, y: Number(y) };
      },
    );
    expect(texts.length).toBeGreaterThan(5);
    for (const { left, right, y } of texts) {
      expect(left).toBeGreaterThanOrEqual(0);
      expect(right).toBeLessThanOrEqual(358);
      expect(y).toBeLessThan(Number(height));
    }
  });

  it('take the colours of the page they are part of', () => {
    const colours = { ink: 'var(--ink)', axis: 'var(--edge)', grid: 'var(--line)', paper: 'none' };
    const svg = renderChart(chart, { colours });
    expect(svg).toContain('fill="var(--ink)"');
    expect(svg).not.toMatch(/#222222|#555555|#dddddd|#ffffff/);
  });

  it('stay whole where all values are zero or missing', () => {
    const empty = { ...chart, series: [{ name: 'none', values: [null, null, 0] }] };
    for (const type of ['bar', 'line', 'pie'] as const)
      expect(renderChart({ ...empty, type })).not.toMatch(/NaN/);
  });
});
