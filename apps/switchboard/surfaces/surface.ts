import type { Option, OptionsOf, OptionTable } from '@trunkline/config';
import type { Leader } from '../cluster/leader.ts';
import type { CoreOptions } from '../core/options.ts';
import type { Plugin } from '../core/plugins.ts';
import type { Folders, Repositories } from '../onboarding/pipeline.ts';
import type { ProjectDirectory } from '../projects/registry.ts';
import type { Deliveries } from './delivery/deliveries.ts';

type OptionSet = Readonly<Record<string, Option<unknown>>>;

/** The settings that a surface reads: its own, and those of the switchboard. */
export type SurfaceOptions<Table extends OptionSet> = CoreOptions & OptionsOf<OptionTable<Table>>;

interface SurfaceDeps {
  /** Sends, retries and records what goes out. */
  deliveries: Deliveries;
  leader: Leader;
  projects: ProjectDirectory;
}

/** A running surface. The fields beyond a plugin's are what onboarding can use of the product. */
interface SurfacePlugin extends Omit<Plugin, 'name' | 'kind'> {
  repositories?: Repositories;
  folders?: Folders;
}

/**
 * A product through which people and other services send messages in and get messages out. Everything that depends on
 * which surfaces exist reads `surfaces` in list.ts: plugins, options, workspace, router, questions, bus, console map and doctor.
 */
export interface Surface<Table extends OptionSet = OptionSet> {
  /** The third segment of its topics: `message.inbound.<name>.#`, `message.outbound.<name>.#`. */
  readonly name: string;
  readonly options: Table;
  /** The variables that switch it on, as the doctor names them. */
  readonly variables: string;
  /** People talk here: agents ask their questions where the conversation is. Elsewhere they ask in the project's channel. */
  readonly carriesQuestions: boolean;
  /** `channels.yaml` may bind its channels to agents and projects. */
  readonly hasChannels?: boolean;
  /** It proves who writes, so that `approvers.yaml` may name its users. Mail does not: anybody can write any sender into it. */
  readonly provesSender?: boolean;
  /** Topics of its own, outside `message.#`, that the journal keeps. */
  readonly durableTopics?: readonly string[];
  /** Webhook paths whose bodies need not be JSON. */
  readonly anyBodyPaths?: readonly string[];
  /** The topic that leads to one of its channels; absent where channels cannot be written to. */
  channelTopic?(channelId: string): string;
  /** Where the answer to a schedule goes. `channel` is the schedule's channel that it serves; `*` serves all others. */
  readonly schedules?: {
    readonly channel: string;
    topic(channel: string, sender: string | undefined): string;
  };
  /** Builds the plugin that mounts routes, starts and stops. */
  create(options: SurfaceOptions<Table>, deps: SurfaceDeps): SurfacePlugin;
  /** A harmless call that says as whom the product knows us; undefined while there is nothing to ask with. */
  diagnose(options: SurfaceOptions<Table>): ((signal: AbortSignal) => Promise<string>) | undefined;
}

/** Types a surface's functions by its own table of options. */
export function defineSurface<const Table extends OptionSet>(surface: Surface<Table>): Surface<Table> {
  return surface;
}
