// The agent service with the offline model; tells what processor time it has used.
import { createLogger, readOptions } from '@trunkline/config';
import { agentOptions, start } from '../../apps/agent/index.ts';

const service = await start(readOptions(agentOptions), {
  logger: createLogger({ name: 'agent', level: 'ERROR' }),
});
console.log(service.url);
process.on('message', () => {
  const { user, system } = process.cpuUsage();
  process.send?.((user + system) / 1000);
});
process.on('SIGTERM', () => {
  void service.stop().then(() => process.exit(0));
});
