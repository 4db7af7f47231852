import { join } from 'node:path';
import { describeRoute } from '@trunkline/http';
import { type Clock, systemClock } from '@trunkline/schedule';
import { errorMessage, limitBody } from '@trunkline/std';
import { readJsonFile, writeFileAtomic } from '@trunkline/storage';
import type { Hono } from 'hono';
import { z } from 'zod';
import type { Leader } from '../cluster/leader.ts';
import type { Plugin, PluginContext } from '../core/plugins.ts';
import { Poller } from '../core/timers.ts';
import type { SwitchboardEnv } from '../routes/guards.ts';
import { reportError } from '../workspace/problems.ts';

export interface SyncSettings {
  organisation: string | undefined;
  /** Repositories with this topic are projects. */
  topic: string;
  /** Repositories (`owner/repo`) that are projects in any case. */
  base: readonly string[];
  apiUrl: string;
  token: string | undefined;
}

interface CompiledProject {
  id: string;
  name: string;
  path: string;
  github: { owner: string; repo: string };
  defaultBranch: string;
}

const everyMs = 15 * 60_000;
const timeoutMs = 20_000;
const pageSize = 100;
const mostPages = 50;
const largestBytes = 20 * 2 ** 20;

const repository = z.looseObject({
  id: z.number(),
  name: z.string(),
  full_name: z.string(),
  owner: z.looseObject({ login: z.string() }),
  default_branch: z.string().default('main'),
  topics: z.array(z.string()).default([]),
  archived: z.boolean().default(false),
});

/**
 * Compiles the list of projects every fifteen minutes: the organisation's repositories with the topic, and the base
 * set. Stores it in `registry/projects.json` and serves it at `/api/settings/global`.
 */
export class ProjectSync implements Plugin {
  readonly name = 'project-sync';
  readonly description = 'Compiles the list of projects from the repositories of an organisation.';
  readonly after = ['leader'];
  readonly off: string | undefined;
  readonly #settings: SyncSettings;
  readonly #leader: Leader;
  readonly #clock: Clock;
  #projects: CompiledProject[] = [];
  #poller: Poller | undefined;

  constructor(settings: SyncSettings, leader: Leader, clock: Clock = systemClock) {
    this.#settings = settings;
    this.#leader = leader;
    this.#clock = clock;
    if (settings.organisation === undefined && settings.base.length === 0)
      this.off = 'Set PROJECT_SYNC_ORG or PROJECT_SYNC_BASE to compile a list of projects here.';
  }

  mount(app: Hono<SwitchboardEnv>): void {
    mountProjectSettings(app, () => this.#projects);
  }

  async start(context: PluginContext): Promise<void> {
    const stored = (await readJsonFile(fileOf(context))) as { projects?: CompiledProject[] } | undefined;
    this.#projects = stored?.projects ?? [];
    this.#poller = new Poller({
      everyMs: () => everyMs,
      poll: (signal) => this.#compile(context, signal),
      onError: (error) => this.#complain(error, context),
      clock: this.#clock,
    });
    this.#poller.start();
  }

  async stop(): Promise<void> {
    await this.#poller?.stop();
  }

  /** The list for the registry of this switchboard, which need not ask over the network; waits for one under way. */
  async compiled(): Promise<{ projects: readonly CompiledProject[] }> {
    await this.#poller?.idle();
    return { projects: this.#projects };
  }

  async #compile(context: PluginContext, signal: AbortSignal): Promise<void> {
    this.#projects = await compile(this.#settings, signal);
    await writeFileAtomic(fileOf(context), JSON.stringify({ projects: this.#projects }, undefined, 2));
  }

  async #complain(error: unknown, { bus, logger }: PluginContext): Promise<void> {
    logger.warn({ err: error }, 'failed to compile projects; the last list stays');
    if (!this.#leader.isLeader()) return;
    const words = errorMessage(error);
    await reportError(bus, logger, { source: 'projects', plugin: 'project-sync', error: words });
  }
}

function fileOf({ home }: PluginContext): string {
  return join(home, 'registry', 'projects.json');
}

async function compile(settings: SyncSettings, signal: AbortSignal): Promise<CompiledProject[]> {
  const found = [
    ...(settings.organisation === undefined ? [] : await organisationRepositories(settings, signal)),
    ...(await baseRepositories(settings, signal)),
  ];
  const byName = new Map(found.map((entry) => [entry.full_name.toLowerCase(), toProject(entry)]));
  return [...byName.values()].sort((one, other) => (one.name < other.name ? -1 : 1));
}

async function organisationRepositories(settings: SyncSettings, signal: AbortSignal) {
  const found: z.output<typeof repository>[] = [];
  for (let page = 1; page <= mostPages; page += 1) {
    const path = `/orgs/${encodeURIComponent(settings.organisation ?? '')}/repos?per_page=${pageSize}&page=${page}`;
    const listed = z.array(repository).parse(await ask(settings, path, signal));
    found.push(...listed.filter(({ topics, archived }) => topics.includes(settings.topic) && !archived));
    if (listed.length < pageSize) break;
  }
  return found;
}

function baseRepositories(settings: SyncSettings, signal: AbortSignal) {
  const one = async (name: string) => repository.parse(await ask(settings, `/repos/${name}`, signal));
  return Promise.all(settings.base.map(one));
}

async function ask({ apiUrl, token }: SyncSettings, path: string, signal: AbortSignal): Promise<unknown> {
  const response = await fetch(`${apiUrl.replace(/\/$/, '')}${path}`, {
    signal: AbortSignal.any([signal, AbortSignal.timeout(timeoutMs)]),
    headers: { accept: 'application/vnd.github+json', ...(token && { authorization: `Bearer ${token}` }) },
  });
  if (response.ok) return await limitBody(response, { maxBytes: largestBytes }).json();
  await response.body?.cancel();
  throw new Error(
    `The code host answered ${response.status} to ${path}; look at CODEHOST_TOKEN and PROJECT_SYNC_ORG.`,
  );
}

function toProject({ id, name, owner, default_branch }: z.output<typeof repository>): CompiledProject {
  return {
    id: String(id),
    name,
    path: '',
    github: { owner: owner.login, repo: name },
    defaultBranch: default_branch,
  };
}

function mountProjectSettings(app: Hono<SwitchboardEnv>, projects: () => readonly object[]): void {
  app.get(
    '/api/settings/global',
    describeRoute({ summary: 'The list of projects compiled here' }),
    (context) => context.json({ success: true, projects: projects() }),
  );
}
