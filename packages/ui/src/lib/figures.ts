// Figures in words, the same on every page.

const counts = new Intl.NumberFormat('en');

export function countOf(number: number): string {
  return counts.format(number);
}

export function plural(number: number, one: string, many = `${one}s`): string {
  return `${countOf(number)} ${number === 1 ? one : many}`;
}

/** Dollars, with as many places as the amount needs. */
export function dollars(amount: number): string {
  if (amount === 0) return '$0';
  return `$${amount.toFixed(amount >= 1 ? 2 : amount >= 0.01 ? 3 : 6)}`;
}

export function duration(milliseconds: number): string {
  if (milliseconds < 1000) return `${Math.round(milliseconds)} ms`;
  const seconds = milliseconds / 1000;
  if (seconds < 60) return `${seconds.toFixed(1)} s`;
  return `${Math.floor(seconds / 60)} min ${Math.round(seconds % 60)} s`;
}
