import type { DayResult } from './hard-day.ts';
import type { Account } from './ledger.ts';
import type { Growth } from './memory.ts';

const columns = [
  'offered',
  'refused',
  'accepted',
  'answered',
  'failed',
  'waiting',
  'missing',
  'twice',
] as const;

/** Whether everything is accounted for, nothing was answered twice, memory is flat and nothing crashed. */
export function isGood(result: DayResult): boolean {
  return problemsOf(result).length === 0;
}

/** The table, what went wrong on purpose, and what went wrong. */
export function reportOf(result: DayResult): string {
  const { troubles, modelFaults, modelRequests, leftOut } = result;
  const problems = problemsOf(result);
  return [
    '',
    tableOf(result.accounts),
    '',
    ...reasonLines(result.accounts),
    `Troubles: ${troubles.kill} times kill -9, ${troubles.fill} times a full disk, ${troubles.jump} jumps of the clock,`,
    `          ${modelFaults} faults in ${modelRequests} requests to the model.`,
    ...leftOut.map((words) => `Left out: ${words}`),
    `Memory:   ${growthWords(result.withinLife)} in the last process, ${growthWords(result.acrossLives)} from the first to the last.`,
    '',
    ...(problems.length === 0 ? ['Everything is accounted for.'] : ['Not good:', ...problems]),
  ].join('\n');
}

function problemsOf({ accounts, withinLife, acrossLives, crashes, isStoppedWell }: DayResult): string[] {
  return [
    ...accounts.flatMap(({ faults }) => faults),
    ...(withinLife.isFlat && acrossLives.isFlat ? [] : ['Memory is not flat.']),
    ...crashes,
    ...(isStoppedWell ? [] : ['The process did not stop in good order at the end.']),
  ];
}

function tableOf(accounts: readonly Account[]): string {
  const head = ['', ...columns];
  const rows = accounts.map((account) => [account.load, ...columns.map((name) => String(account[name]))]);
  const total = ['all', ...columns.map((name) => String(sum(accounts.map((account) => account[name]))))];
  const lines = [head, ...rows, total];
  return lines.map((cells) => cells.map((cell, index) => padded(cell, index)).join(' ')).join('\n');
}

function padded(cell: string, index: number): string {
  return index === 0 ? cell.padEnd(22) : cell.padStart(9);
}

/** Why what failed did, so that nobody has to guess whether it had to. */
function reasonLines(accounts: readonly Account[]): string[] {
  const lines = accounts.flatMap(({ load, reasons }) =>
    Object.entries(reasons).map(([words, count]) => `  ${String(count).padStart(4)} ${load}: ${words}`),
  );
  return lines.length === 0 ? [] : ['Failed, by reason:', ...lines, ''];
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, number) => total + number, 0);
}

function growthWords({ first, last }: Growth): string {
  return `heap ${first.heap} to ${last.heap} MB, all ${first.rss} to ${last.rss} MB`;
}
