// A switchboard in a process of its own; says when it is ready, and what it weighs.
import { createLogger, readOptions } from '@trunkline/config';
import { start, switchboardOptions } from '@trunkline/switchboard';

const began = performance.now();
const logger = createLogger({ name: 'switchboard', level: 'ERROR' });
const service = await start(readOptions(switchboardOptions, { argv: [] }), { logger });
const startMs = performance.now() - began;
globalThis.gc?.();
const { heapUsed, rss } = process.memoryUsage();
console.log(JSON.stringify({ url: service.url, startMs, heapMb: heapUsed / 2 ** 20, rssMb: rss / 2 ** 20 }));
process.once('SIGTERM', () => void service.stop().then(() => process.exit(0)));
