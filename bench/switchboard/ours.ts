import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createLogger, readOptions } from '@trunkline/config';
import { readOperatorKey } from '@trunkline/identity';
import { startSwitchboard } from '../../apps/switchboard/app.ts';
import { switchboardOptions } from '../../apps/switchboard/options.ts';
import { type Contestant, words } from './contestant.ts';

/** The whole switchboard with its shipped settings: keys, limits, journal, flows and traces on disk, events on the bus. */
export async function startOurs(): Promise<Contestant> {
  const directory = mkdtempSync(join(tmpdir(), 'trunkline-bench-'));
  const env = { TRUNKLINE_HOME: directory, SWITCHBOARD_PORT: '0' };
  const logger = createLogger({ name: 'bench', level: 'ERROR' });
  const options = readOptions(switchboardOptions, { env });
  const { service, components } = await startSwitchboard(options, { logger, env });
  const { bus, exchange } = components;
  const contestant: Contestant = {
    url: service.url,
    headers: { authorization: `Bearer ${readOperatorKey(directory) ?? ''}` },
    publish,
    onHandled: () => undefined,
    async stop() {
      await service.stop();
      rmSync(directory, { recursive: true, force: true });
    },
  };
  exchange.routing.registry.replace('bench', [
    {
      agent: 'worker',
      type: 'in-process',
      skills: [{ name: 'work', description: '', keywords: [] }],
      async execute({ correlationId }) {
        contestant.onHandled(correlationId);
        return { content: 'done', taskState: 'completed' };
      },
    },
  ]);
  return contestant;

  async function publish(id: string) {
    const payload = { skillHint: 'work', content: words };
    await bus.publish({ topic: 'agent.skill.request', payload, correlationId: id });
  }
}
