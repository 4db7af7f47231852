import type { Subscription } from '@trunkline/bus';
import type { Plugin } from '../core/plugin.ts';
import { mountOnboard } from '../routes/onboard.ts';
import { OnboardingPipeline } from './pipeline.ts';
import type { Folders, Repositories } from './steps.ts';

const atOnce = 4;

export interface OnboardingDeps {
  repositories: Repositories | undefined;
  folders: Folders | undefined;
}

/** Brings projects online: on the bus, over HTTP, from chat and from the code host. */
export function createOnboarding({ repositories, folders }: OnboardingDeps): Plugin {
  let subscription: Subscription | undefined;
  return {
    name: 'onboarding',
    mount: (app, { bus }) => mountOnboard(app, bus),
    async start({ bus, workspace, options, logger }) {
      const { publicUrl } = options;
      const pipeline = new OnboardingPipeline({
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
