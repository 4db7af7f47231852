import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createEmbeddedBus } from '@trunkline/bus';
import { createLogger } from '@trunkline/config';
import { createApp, serve } from '@trunkline/http';
import { type Caller, operator } from '../../apps/switchboard/access/caller.ts';
import { AgentLimiter } from '../../apps/switchboard/dispatch/agent-limiter.ts';
import { Cooldowns } from '../../apps/switchboard/dispatch/agent-queues.ts';
import { Dispatcher } from '../../apps/switchboard/dispatch/dispatcher.ts';
import { ExecutorRegistry, SkillStore } from '../../apps/switchboard/dispatch/registry.ts';
import { TaskStore } from '../../apps/switchboard/dispatch/task-store.ts';
import { FlowStore } from '../../apps/switchboard/flows/flow-store.ts';
import { mountPublish } from '../../apps/switchboard/routes/bus.ts';
import { type Contestant, words } from './contestant.ts';

/** The way from POST /publish to an executor as the switchboard has it: journal, flows and traces on disk, events on the bus. */
export async function startOurs(): Promise<Contestant> {
  const directory = mkdtempSync(join(tmpdir(), 'trunkline-bench-'));
  const logger = createLogger({ name: 'bench', level: 'ERROR' });
  const bus = await createEmbeddedBus({ directory: join(directory, 'bus'), logger });
  const flows = new FlowStore(join(directory, 'flows.db'));
  const tasks = new TaskStore(join(directory, 'tasks.db'));
  const registry = new ExecutorRegistry();
  const contestant: Contestant = { url: '', publish, onHandled: () => undefined, stop };
  registry.replace('bench', [
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
  const dispatcher = new Dispatcher({
    bus,
    registry,
    flows,
    tasks,
    cooldowns: new Cooldowns({}),
    limiter: new AgentLimiter({ running: 64, waiting: 100_000, delegationWaitMs: 60_000 }),
    arms: { choose: (_, executor) => executor, note: async () => undefined },
    skills: new SkillStore(':memory:'),
    senderRefusal: () => undefined,
    queueConcurrency: 512,
    executorWaitMs: 60_000,
    timeoutMs: 60_000,
    callbackUrl: () => undefined,
    logger,
  });
  await dispatcher.start();
  const app = createApp<Caller>({
    service: 'bench',
    version: '0',
    logger,
    renderError: (error) => ({ body: { error: error.message } }),
    health: () => ({ status: 200, body: {} }),
  });
  app.use('*', async (context, next) => {
    context.set('caller', operator);
    context.set('principal', { kind: 'operator', id: 'operator', via: [] });
    await next();
  });
  mountPublish(app, bus, {
    owners: { ownerOf: () => undefined },
    journalDraft: (draft) => draft,
  });
  const server = await serve(app, { host: '127.0.0.1', port: 0, portVariable: 'none', logger });
  contestant.url = server.url;
  return contestant;

  async function publish(id: string) {
    const payload = { skillHint: 'work', content: words };
    await bus.publish({ topic: 'agent.skill.request', payload, correlationId: id });
  }

  async function stop() {
    await server.stop();
    await bus.stop();
    flows.close();
    tasks.close();
    rmSync(directory, { recursive: true, force: true });
  }
}
