import { type Bus, BusError, type Subscription } from '@trunkline/bus';
import { defineErrors, describeRoute, readJson } from '@trunkline/http';
import type { Hono } from 'hono';
import type { Plugin } from '../core/plugins.ts';
import { throwBusFailure } from '../errors.ts';
import type { SwitchboardEnv } from '../routes/guards.ts';
import { createOnboardingPipeline, type Folders, type OnboardResult, type Repositories } from './pipeline.ts';

const waitMs = 60_000;

const errors = defineErrors({
  onboard_slow: [
    504,
    'It takes longer than 60 s; it goes on, and message.inbound.onboard.complete tells when it is done.',
  ],
});

const atOnce = 4;

export interface OnboardingDeps {
  repositories: Repositories | undefined;
  folders: Folders | undefined;
}

/** Onboards projects on request from the bus, HTTP, chat and the code host. */
export function createOnboarding({ repositories, folders }: OnboardingDeps): Plugin {
  let subscription: Subscription | undefined;
  return {
    name: 'onboarding',
    description: 'Adds a new project: its repository, folder and channel, where asked.',
    mount: (app, { bus }) => mountOnboard(app, bus),
    async start({ bus, workspace, options, logger }) {
      const { publicUrl } = options;
      const pipeline = createOnboardingPipeline({
        bus,
        webhook: { repositories, publicUrl },
        folder: () => ({ folders, parentId: workspace.cloud()?.drive.orgFolderId }),
        defaultAgents: () => [workspace.fleet().roles.reviewer],
        logger,
      });
      subscription = await bus.subscribe(
        'message.inbound.onboard',
        (message, { signal }) => pipeline.run(message, signal),
        { durable: 'onboarding', group: 'onboarding', concurrency: atOnce, plugin: 'onboarding' },
      );
    },
    async stop() {
      await subscription?.unsubscribe();
    },
  };
}

function mountOnboard(app: Hono<SwitchboardEnv>, bus: Bus): void {
  const about = describeRoute({ summary: 'Brings a project online', errors: [errors.onboard_slow] });
  app.post('/api/onboard', about, async (context) => {
    const request = await readJson(context.req);
    const options = {
      timeoutMs: waitMs,
      signal: context.req.raw.signal,
      source: { interface: 'api' },
      principal: context.get('principal'),
    };
    const answer = await bus.request('message.inbound.onboard', request, options).catch(explain);
    const result = answer.payload as OnboardResult;
    if (result.success) return context.json({ ...result, data: result });
    return context.json({ ...result, error: result.summary }, result.code === 'in_flight' ? 409 : 400);
  });
}

function explain(error: unknown): never {
  if (error instanceof BusError && error.code === 'request_timeout')
    throw errors.onboard_slow({ cause: error });
  throwBusFailure(error);
}
