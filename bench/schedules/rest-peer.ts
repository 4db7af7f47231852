// A folder of schedules as a program of a few lines reads it: each file by the yaml package, each schedule a job of croner.
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Cron } from 'croner';
import { parse } from 'yaml';

interface Schedule {
  id: string;
  schedule: string;
  timezone: string;
}

const [directory = ''] = process.argv.slice(2);
const jobs = new Map<string, { schedule: Schedule; job: Cron }>();

globalThis.gc?.();
const heapBefore = process.memoryUsage().heapUsed;
const began = performance.now();
for (const name of readdirSync(directory)) {
  const schedule = parse(readFileSync(join(directory, name), 'utf8')) as Schedule;
  const { timezone } = schedule;
  const job = new Cron(schedule.schedule, { mode: '5-part', timezone }, () => undefined);
  jobs.set(schedule.id, { schedule, job });
}
const startMs = performance.now() - began;
globalThis.gc?.();
const heapMb = (process.memoryUsage().heapUsed - heapBefore) / 2 ** 20;
process.stdout.write(JSON.stringify({ count: jobs.size, startMs, heapMb }), () => process.exit(0));
