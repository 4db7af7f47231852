// Where the ticks of a plot stand.

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
