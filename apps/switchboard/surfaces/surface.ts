import type { Option, OptionsOf, OptionTable } from '@trunkline/config';
import type { Leader } from '../cluster/leader.ts';
import type { CoreOptions } from '../core/options.ts';
import type { Plugin } from '../core/plugins.ts';
import type { Folders, Repositories } from '../onboarding/pipeline.ts';
import type { ProjectDirectory } from '../projects/registry.ts';
import type { Deliveries } from './delivery/deliveries.ts';

type OptionSet = Readonly<Record<string, Option<unknown>>>;

/** A surface's own settings and those of the switchboard. */
export type SurfaceOptions<Table extends OptionSet> = CoreOptions & OptionsOf<OptionTable<Table>>;

interface SurfaceDeps {
  /** Sends, retries and records outbound messages. */
  deliveries: Deliveries;
  leader: Leader;
  projects: ProjectDirectory;
}

/** Fields beyond a plugin's serve onboarding. */
interface SurfacePlugin extends Omit<Plugin, 'name' | 'kind'> {
  repositories?: Repositories;
  folders?: Folders;
}

/**
 * A product through which people and services exchange messages with agents. Everything that depends on which surfaces
 * exist reads `surfaces` in list.ts: plugins, options, workspace, router, questions, bus, console map and doctor.
 */
export interface Surface<Table extends OptionSet = OptionSet> {
  /** The third segment of its topics: `message.inbound.<name>.#`, `message.outbound.<name>.#`. */
  readonly name: string;
  /** The product, as people call it. */
  readonly title: string;
  /** What to do at the product first, for whoever sets it up. */
  readonly guide: string;
  readonly options: Table;
  /** The variables that switch it on, as the doctor names them. */
  readonly variables: string;
  /** Agents ask questions in conversations here; for other surfaces they ask in the project's channel. */
  readonly carriesQuestions: boolean;
  /** `channels.yaml` may bind its channels to agents and projects. */
  readonly hasChannels?: boolean;
  /** It proves who writes, so that `approvers.yaml` may name its users. Mail does not: anybody can write any sender into it. */
  readonly provesSender?: boolean;
  /** Journalled topics outside `message.#`. */
  readonly durableTopics?: readonly string[];
  /** Outlets beside the one of its own name, with the topics that each delivers. */
  readonly outlets?: Readonly<Record<string, readonly string[]>>;
  /** Webhook paths whose bodies need not be JSON. */
  readonly anyBodyPaths?: readonly string[];
  /** The outbound topic of a channel; absent when channels cannot be written to. */
  channelTopic?(channelId: string): string;
  /** The outbound topic for answers to schedules with this `channel`; `*` serves all others. */
  readonly schedules?: {
    readonly channel: string;
    topic(channel: string, sender: string | undefined): string;
  };
  /** Where a test message goes, if not where results of schedules go. `{place}` in the topic is what the person names. */
  readonly test?: { readonly topic: string; readonly place?: { label: string; example: string } };
  /** What signs its webhooks; undefined while the surface is off. */
  webhooks?(options: SurfaceOptions<Table>): { secret: string | undefined; variable: string } | undefined;
  /** The plugin. */
  create(options: SurfaceOptions<Table>, deps: SurfaceDeps): SurfacePlugin;
  /** A harmless call that says who we are there; undefined when nothing is configured. */
  diagnose(options: SurfaceOptions<Table>): ((signal: AbortSignal) => Promise<string>) | undefined;
}

/** Types a surface's functions by its own table of options. */
export function defineSurface<const Table extends OptionSet>(surface: Surface<Table>): Surface<Table> {
  return surface;
}
