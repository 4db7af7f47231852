// The agent service with the offline model, in a process of its own.
import { createLogger, readOptions } from '@trunkline/config';
import { agentOptions, start } from '../../apps/agent/index.ts';

const options = readOptions(agentOptions);
const service = await start(options, { logger: createLogger({ name: 'agent', level: 'ERROR' }) });
console.log(service.url);
process.on('message', () => {
  globalThis.gc?.();
  const { heapUsed, external } = process.memoryUsage();
  process.send?.((heapUsed + external) / 2 ** 20);
});
process.on('SIGTERM', () => {
  void service.stop().then(() => process.exit(0));
});
