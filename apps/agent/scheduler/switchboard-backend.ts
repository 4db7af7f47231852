import { createGuardedFetch, type GuardedFetch } from '@trunkline/http';
import { encodePrincipal, handedOn, principalHeader } from '@trunkline/identity';
import { checkSchedule } from './new-job.ts';
import type { NewSchedule, ScheduleBackend } from './schedule-backend.ts';

export interface SwitchboardBackendOptions {
  agentName: string;
  /** Address of the switchboard. */
  url: string;
  apiKey: string;
  /** Schedules fire on `<prefix>.<job id>`; `cron.<agent_name>` when left out. */
  topicPrefix?: string | undefined;
  now?: () => number;
}

const TIMEOUT_MS = 15_000;
const TIMEZONE = 'UTC';
/** Counts only where the key is the token between our own services; others ignore it. */
const asAgent = handedOn({ kind: 'service', id: 'agent', via: [] }, 'agent');

/** Hands schedules to a switchboard, which keeps them and sends the agent a message when one fires. */
export class SwitchboardBackend implements ScheduleBackend {
  readonly #options: SwitchboardBackendOptions;
  readonly #fetch: GuardedFetch;

  constructor(options: SwitchboardBackendOptions) {
    this.#options = options;
    const { hostname } = new URL(options.url);
    this.#fetch = createGuardedFetch({ allowedHosts: [hostname], timeoutMs: TIMEOUT_MS, maxRedirects: 0 });
  }

  async add(given: NewSchedule): Promise<{ id: string; next: string }> {
    const { agentName, topicPrefix = `cron.${agentName}`, now = Date.now } = this.#options;
    const checked = checkSchedule(given, { agentName, timezone: TIMEZONE, now: now() });
    const id = this.#own(checked.id);
    const payload = { content: checked.prompt, channel: 'a2a', agent_name: agentName, scheduler_job_id: id };
    const topic = `${topicPrefix}.${id}`;
    await this.#command({
      action: 'add',
      id,
      schedule: checked.schedule,
      timezone: TIMEZONE,
      topic,
      payload,
    });
    return { id, next: new Date(checked.next).toISOString() };
  }

  /** The switchboard answers on its bus, which does not reach here. */
  async list(): Promise<[]> {
    return [];
  }

  /** Only ids of this agent are ever sent. Whether there was such a job is not answered. */
  async cancel(id: string): Promise<boolean> {
    if (!this.#isOwn(id)) return false;
    await this.#command({ action: 'remove', id });
    return true;
  }

  /** The switchboard fires; there is nothing to start or stop here. */
  start(): void {
    return;
  }

  async stop(): Promise<void> {
    return;
  }

  #isOwn(id: string): boolean {
    return id.startsWith(`${this.#options.agentName}-`);
  }

  #own(id: string): string {
    return this.#isOwn(id) ? id : `${this.#options.agentName}-${id}`;
  }

  async #command(payload: object): Promise<void> {
    const { url, apiKey } = this.#options;
    const response = await this.#fetch(new URL('publish', url.endsWith('/') ? url : `${url}/`), {
      method: 'POST',
      headers: {
        'content-type': 'application/json',
        'x-api-key': apiKey,
        [principalHeader]: encodePrincipal(asAgent),
      },
      body: JSON.stringify({ topic: 'command.schedule', payload }),
    });
    if (response.status === 401 || response.status === 403)
      throw new Error('the switchboard refuses the key: check SWITCHBOARD_API_KEY.');
    if (response.status >= 300) throw new Error(`the switchboard answered with status ${response.status}.`);
  }
}
