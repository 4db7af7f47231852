import type { Bus, Message } from '@trunkline/bus';
import type { Logger } from '@trunkline/config';
import { errorMessage } from '@trunkline/std';
import { z } from 'zod';
import { derivedId } from '../core/derived-id.ts';
import type { OnboardRequest } from './request.ts';
import { onboardSchema } from './request.ts';
import {
  createFolder,
  type FolderSettings,
  registerWebhook,
  type StepName,
  type StepResult,
  type Steps,
  type WebhookSettings,
} from './steps.ts';

export interface OnboardResult {
  success: boolean;
  /** The last step that ran. */
  step: StepName;
  status: 'onboarded' | 'rejected';
  /** Why it was rejected. */
  code?: 'invalid' | 'in_flight';
  slug: string | null;
  github: string | null;
  summary: string;
  steps: Steps;
  /** For people. */
  content: string;
}

export interface PipelineSettings {
  bus: Bus;
  webhook: WebhookSettings;
  folder: () => FolderSettings;
  /** The agents of a project that names none. */
  defaultAgents: () => string[];
  logger: Logger;
}

const stepMs = 30_000;

/** Brings a project online in five steps; running it again for the same project is safe. */
export class OnboardingPipeline {
  readonly #settings: PipelineSettings;
  readonly #inFlight = new Set<string>();

  constructor(settings: PipelineSettings) {
    this.#settings = settings;
  }

  async run(message: Message, stopping: AbortSignal): Promise<void> {
    const result = await this.#onboard(message, stopping);
    await this.#reply(message, result);
  }

  async #onboard(message: Message, stopping: AbortSignal): Promise<OnboardResult> {
    const parsed = onboardSchema.safeParse(message.payload);
    if (!parsed.success) return invalid(message.payload, parsed.error);
    const request = { ...parsed.data, agents: parsed.data.agents ?? this.#settings.defaultAgents() };
    if (this.#inFlight.has(request.slug)) return inFlight(request);
    this.#inFlight.add(request.slug);
    try {
      return await this.#perform(request, message, stopping);
    } finally {
      this.#inFlight.delete(request.slug);
    }
  }

  async #perform(request: OnboardRequest, message: Message, stopping: AbortSignal): Promise<OnboardResult> {
    const { webhook, folder } = this.#settings;
    const steps: Steps = { validate: { status: 'ok' } };
    let folderId: string | undefined;
    steps.github_webhook = await this.#attempt('github_webhook', stopping, (signal) =>
      registerWebhook(request, webhook, signal),
    );
    steps.drive_folder = await this.#attempt('drive_folder', stopping, async (signal) => {
      const outcome = await createFolder(request, folder(), signal);
      folderId = outcome.folderId;
      return outcome.result;
    });
    stopping.throwIfAborted();
    await this.#notify(request, steps, folderId, message);
    steps.bus_notify = { status: 'ok' };
    steps.reply =
      message.reply === undefined ? { status: 'skip', reason: 'nobody asked for a reply' } : { status: 'ok' };
    return onboarded(request, steps);
  }

  /** A failure is recorded, and the pipeline goes on. */
  async #attempt(
    step: StepName,
    stopping: AbortSignal,
    work: (signal: AbortSignal) => Promise<StepResult>,
  ): Promise<StepResult> {
    try {
      return await work(AbortSignal.any([stopping, AbortSignal.timeout(stepMs)]));
    } catch (error) {
      this.#settings.logger.warn({ err: error, step }, 'a step of onboarding failed');
      return { status: 'error', message: errorMessage(error) };
    }
  }

  async #notify(
    { slug, title, github, defaultBranch, team, agents, discord }: OnboardRequest,
    steps: Steps,
    driveFolderId: string | undefined,
    { id, correlationId }: Message,
  ): Promise<void> {
    const project = { slug, title, github, defaultBranch, team, agents, discord };
    await this.#settings.bus.publish({
      topic: 'message.inbound.onboard.complete',
      payload: JSON.parse(JSON.stringify({ ...project, driveFolderId: driveFolderId ?? null, steps })),
      id: derivedId(id, 'onboard-complete'),
      correlationId,
      parentId: id,
    });
  }

  async #reply({ id, correlationId, reply }: Message, result: OnboardResult): Promise<void> {
    if (reply === undefined) return;
    const payload = JSON.parse(JSON.stringify(result));
    await this.#settings.bus.publish({
      topic: reply.topic,
      payload,
      id: derivedId(id, 'reply'),
      correlationId,
      parentId: id,
    });
  }
}

function onboarded({ slug, github, title }: OnboardRequest, steps: Steps): OnboardResult {
  const lines = Object.entries(steps).map(([name, result]) => `${name}: ${wordsOf(result)}`);
  const failed = Object.values(steps).some(({ status }) => status === 'error');
  const summary = failed ? `${title} is online, but a step failed` : `${title} is online`;
  const content = `${summary} (${github}).\n${lines.map((line) => `- ${line}`).join('\n')}`;
  return { success: true, step: 'reply', status: 'onboarded', slug, github, summary, steps, content };
}

function wordsOf(result: StepResult): string {
  if (result.status === 'skip') return `skipped, ${result.reason}`;
  if (result.status === 'error') return `failed, ${result.message}`;
  return result.detail === undefined ? 'done' : `done (${result.detail})`;
}

function invalid(payload: unknown, error: z.ZodError): OnboardResult {
  const { slug, github } = z
    .object({ slug: z.string().nullable().catch(null), github: z.string().nullable().catch(null) })
    .catch({ slug: null, github: null })
    .parse(payload);
  const words = error.issues.map(({ path, message }) =>
    path.length > 0 && !message.includes(String(path[0])) ? `${path.join('.')}: ${message}` : message,
  );
  return rejected('invalid', slug, github, words.join('; '));
}

function inFlight({ slug, github }: OnboardRequest): OnboardResult {
  return rejected('in_flight', slug, github, `${slug} is being brought online already; wait for that to end`);
}

function rejected(
  code: 'invalid' | 'in_flight',
  slug: string | null,
  github: string | null,
  summary: string,
): OnboardResult {
  const steps: Steps = { validate: { status: 'error', message: summary } };
  const content = `Error: ${summary}`;
  return {
    success: false,
    step: 'validate',
    status: 'rejected',
    code,
    slug,
    github,
    summary,
    steps,
    content,
  };
}
