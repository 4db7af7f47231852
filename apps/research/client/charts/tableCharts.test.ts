import { describe, expect, it } from 'vitest';
import { chartsOf, tableOf } from './tableCharts.ts';

const cell = (text: string) => ({ text, isDoubtful: false });
const table = (...rows: string[][]) => rows.map((row) => row.map(cell));

describe('a table as charts', () => {
  it('draws the columns of figures for the first column, one chart for each unit', () => {
    const { charts } = chartsOf(
      table(
        ['Station', 'Opened', 'Capacity', 'Output', 'Country'],
        ['La Rance', '1966', '240 megawatts', '€1,200.5', 'France'],
        ['Sihwa Lake', '2011', '254 megawatts', '–', 'South Korea'],
        ['Annapolis', '1984', 'about 20 megawatts', '€-30', 'Canada'],
      ),
    );
    const labels = ['La Rance', 'Sihwa Lake', 'Annapolis'];
    expect(charts).toMatchObject([
      {
        type: 'bar',
        title: 'Capacity by Station',
        labels,
        series: [{ values: [240, 254, 20] }],
        unit: 'megawatts',
      },
      {
        type: 'bar',
        title: 'Output by Station',
        labels,
        series: [{ values: [1200.5, null, -30] }],
        unit: '€',
      },
    ]);
  });

  it('draws years as a line, and columns of one unit together', () => {
    const { charts } = chartsOf(
      table(
        ['Year', 'Wind (TWh)', 'Tide (TWh)'],
        ['2020', '10', '1'],
        ['2021', '12', '2'],
        ['2022', '9', '2'],
      ),
    );
    expect(charts).toMatchObject([
      {
        type: 'line',
        unit: 'TWh',
        series: [{ name: 'Wind (TWh)' }, { name: 'Tide (TWh)', values: [1, 2, 2] }],
      },
    ]);
  });

  it('reads decimal commas where the table has them', () => {
    const values = (...cells: string[]) =>
      chartsOf(table(['Land', 'Preis'], ...cells.map((text) => ['x', text]))).charts[0]?.series[0]?.values;
    expect(values('1.234', '1,5')).toEqual([1234, 1.5]);
    expect(values('1.234', '1,500')).toEqual([1.234, 1500]);
    expect(values('12 500', '7')).toEqual([12500, 7]);
  });

  it.each([
    ['words', table(['A', 'B'], ['x', 'much'], ['y', 'little'])],
    ['ranges', table(['A', 'B'], ['x', '10–20'], ['y', '5'])],
    ['several units', table(['A', 'B'], ['x', '10 MW'], ['y', '5 GW'])],
    ['years', table(['A', 'Opened'], ['x', '1966'], ['y', '2011'])],
    ['one row', table(['A', 'B'], ['x', '10'])],
    ['nothing', table(['A', 'B'], ['x', ''], ['y', '–'])],
    ['no rows', []],
  ])('offers no chart of %s', (_, rows) => {
    expect(chartsOf(rows).charts).toEqual([]);
  });

  it('leaves citations out of the cells, and counts the figures that do not hold', () => {
    const text = (value: string) => ({ type: 'text', value });
    const element = (tagName: string, children: object[], href?: string) => ({
      type: 'element',
      tagName,
      properties: href === undefined ? {} : { href },
      children: children as never[],
    });
    const mark = (href: string) => element('a', [text('[1]')], href);
    const row = (name: string, ...cells: object[]) =>
      element('tr', [element('td', [text(name)]), element('td', cells)]);
    const rows = tableOf(
      element('table', [
        element('thead', [element('tr', [element('th', [text('Station')]), element('th', [text('MW')])])]),
        element('tbody', [
          row('La Rance', element('strong', [text('240')]), text(' '), mark('#claim-0')),
          row('Sihwa', text('999 '), mark('#doubt-1')),
          row('Severn', text('8 [?]')),
        ]),
      ]),
    );
    expect(rows.map((cells) => cells.map((each) => each.text))).toEqual([
      ['Station', 'MW'],
      ['La Rance', '240'],
      ['Sihwa', '999'],
      ['Severn', '8'],
    ]);
    expect(chartsOf(rows)).toMatchObject({ charts: [{ series: [{ values: [240, 999, 8] }] }], doubtful: 2 });
  });
});
