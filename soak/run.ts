// A hard day for all four services: `npm run soak -- --minutes 5 --seed 1`.
import { parseArgs } from 'node:util';
import { runHardDay } from './hard-day.ts';
import { isGood, reportOf } from './report.ts';

const { values } = parseArgs({ options: { minutes: { type: 'string' }, seed: { type: 'string' } } });
const minutes = positive('minutes', values.minutes ?? '5');
const seed = positive('seed', values.seed ?? String(1 + Math.floor(Math.random() * 1_000_000)));

console.log(`${minutes} minutes of load; --seed ${seed} makes the same plan again.`);
const result = await runHardDay({
  seconds: minutes * 60,
  seed,
  kills: Math.max(1, Math.round(minutes * 2)),
  fills: Math.max(1, Math.round(minutes / 2)),
  jumps: Math.max(2, Math.round(minutes)),
  say: console.log,
});
console.log(reportOf(result));
process.exit(isGood(result) ? 0 : 1);

function positive(name: string, text: string): number {
  const number = Number(text);
  if (number > 0 && Number.isFinite(number)) return number;
  console.error(`--${name} must be a number above 0, not "${text}".`);
  process.exit(2);
}
