import type { Responses } from '@trunkline/openai-api';
import type { ScheduleOwners } from './access/check-publish.ts';
import { AlertingPlugin } from './alerting/plugin.ts';
import { CeremonyPlugin } from './ceremonies/plugin.ts';
import type { SharedHome } from './cluster/hand-edits.ts';
import { LeaderPlugin, nodeName } from './cluster/leader.ts';
import type { Peers } from './cluster/peers.ts';
import { createRowReplica, type RowSealing, type SharedRows } from './cluster/row-replica.ts';
import { createStoreReplica } from './cluster/store-replica.ts';
import { WorkspaceReplica } from './cluster/workspace-replica.ts';
import type { ConversationStore } from './conversations/conversation-store.ts';
import type { Plugin } from './core/plugins.ts';
import type { SharedFlow } from './flows/flow-store.ts';
import type { SharedQuestion } from './human/question-store.ts';
import { createOnboarding } from './onboarding/plugin.ts';
import { OperatorPlugin } from './operator/plugin.ts';
import type { SwitchboardOptions } from './options.ts';
import {
  type ProjectDirectory,
  ProjectRegistry,
  type ProjectSource,
  remoteSource,
} from './projects/registry.ts';
import { ProjectSync } from './projects/sync.ts';
import { SchedulerPlugin } from './scheduler/plugin.ts';
import { createDeliveries } from './surfaces/delivery/deliveries.ts';
import { createUndelivered } from './surfaces/delivery/undelivered.ts';
import { surfaces } from './surfaces/list.ts';
import type { Surface } from './surfaces/surface.ts';

export interface Plugins {
  list: Plugin[];
  projects: ProjectDirectory;
  schedules: ScheduleOwners;
  peers: Peers;
  /** Resolves when the workspace has the changes of other switchboards. */
  catchUp(): Promise<void>;
}

interface PluginDeps {
  sealing: RowSealing;
  conversations: ConversationStore;
  responses: Responses;
  /** Where other switchboards share the bus. */
  flowRows: SharedRows<SharedFlow> | undefined;
  questionRows: SharedRows<SharedQuestion> | undefined;
  sharedHome: SharedHome | undefined;
  createPeers(isLeader: () => boolean): Peers;
}

export function createPlugins(
  options: SwitchboardOptions,
  { sealing, conversations, responses, flowRows, questionRows, sharedHome, createPeers }: PluginDeps,
): Plugins {
  const deliveries = createDeliveries();
  const leader = new LeaderPlugin(options.leaseMs);
  const peers = createPeers(() => leader.isLeader());
  const files = new WorkspaceReplica(sealing, sharedHome);
  const scheduler = new SchedulerPlugin(leader, files);
  const sync = createSync(options, leader);
  const projects = new ProjectRegistry(sourceOf(options, sync));
  const running = surfaces.map((surface: Surface) => ({
    ...surface.create(options, { deliveries, leader, projects }),
    name: surface.name,
    title: surface.title,
    kind: 'surface' as const,
    after: [deliveries.name, leader.name, projects.name],
    durableTopics: surface.durableTopics,
    outlets: surface.outlets,
  }));
  const onboarding = createOnboarding({
    repositories: running.find(({ repositories }) => repositories)?.repositories,
    folders: running.find(({ folders }) => folders)?.folders,
  });
  return {
    list: [
      deliveries,
      leader,
      {
        name: 'peers',
        description: 'Asks the other switchboards of a bus what they are at work on.',
        start: async ({ home }) => peers.start(await nodeName(home)),
        stop: async () => peers.stop(),
      },
      files,
      createStoreReplica({ subject: 'conversations', store: conversations, takesOwn: true }, sealing),
      createStoreReplica({ subject: 'responses', store: responses, takesOwn: false }, sealing),
      ...(flowRows === undefined ? [] : [createRowReplica(flowRows, sealing)]),
      ...(questionRows === undefined ? [] : [createRowReplica(questionRows, sealing)]),
      { ...createRowReplica(deliveries.shared, sealing), after: [deliveries.name] },
      new AlertingPlugin(leader),
      new OperatorPlugin(),
      sync,
      projects,
      scheduler,
      new CeremonyPlugin(leader),
      ...running,
      createUndelivered(deliveries, running),
      onboarding,
    ],
    projects,
    schedules: scheduler,
    peers,
    catchUp: () => files.catchUp(),
  };
}

function createSync(options: SwitchboardOptions, leader: LeaderPlugin): ProjectSync {
  const settings = {
    organisation: options.projectSyncOrganisation,
    topic: options.projectSyncTopic,
    base: options.projectSyncBase,
    apiUrl: options.codehostApiUrl,
    token: options.codehostToken,
  };
  return new ProjectSync(settings, leader);
}

/** PROJECT_REGISTRY_URL, else the list compiled here. */
function sourceOf({ projectRegistryUrl }: SwitchboardOptions, sync: ProjectSync): ProjectSource | undefined {
  if (projectRegistryUrl !== undefined) return remoteSource(projectRegistryUrl);
  return sync.off === undefined ? () => sync.compiled() : undefined;
}
