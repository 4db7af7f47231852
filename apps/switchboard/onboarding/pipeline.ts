import type { Bus, Message } from '@trunkline/bus';
import type { Logger } from '@trunkline/config';
import { roleOf } from '@trunkline/identity';
import { errorMessage } from '@trunkline/std';
import { z } from 'zod';
import { derivedId, onBehalf, principalOf } from '../core/messages.ts';

const channel = z.string().optional();

const onboardSchema = z.object({
  slug: z
    .string('slug is required')
    .regex(/^[a-z0-9][a-z0-9._-]{0,99}$/i, 'slug must be letters, digits, dots, hyphens or underscores'),
  title: z.string('title is required').trim().min(1, 'title is required').max(200),
  github: z
    .string('github is required')
    .regex(/^[A-Za-z0-9_.-]+\/[A-Za-z0-9_.-]+$/, 'github must have the form owner/repo'),
  defaultBranch: z.string().min(1).default('main'),
  team: z.string().min(1).default('dev'),
  agents: z.array(z.string().min(1)).optional(),
  discord: z
    .object({ general: channel, updates: channel, dev: channel, alerts: channel, releases: channel })
    .default({}),
});

const events = ['issues', 'issue_comment', 'pull_request', 'pull_request_review_comment'] as const;

export interface OnboardResult {
  success: boolean;
  /** The last step that ran. */
  step: StepName;
  status: 'onboarded' | 'rejected';
  code?: 'invalid' | 'in_flight';
  slug: string | null;
  github: string | null;
  summary: string;
  steps: Steps;
  content: string;
}

export interface PipelineSettings {
  bus: Bus;
  webhook: WebhookSettings;
  folder: () => FolderSettings;
  defaultAgents: () => string[];
  logger: Logger;
}

const stepMs = 30_000;

const notPaired =
  'Only people whom the operator has paired may bring a project online. Send me a direct message to get a code.';

/** Brings a project online in five steps; repeating it is safe. */
export function createOnboardingPipeline({ webhook, folder, defaultAgents, logger, bus }: PipelineSettings) {
  const running = new Set<string>();

  async function run(message: Message, stopping: AbortSignal): Promise<void> {
    const result = await onboard(message, stopping);
    if (message.reply !== undefined) await publish(message, message.reply.topic, 'reply', result);
  }

  async function onboard(message: Message, stopping: AbortSignal): Promise<OnboardResult> {
    if (roleOf(principalOf(message)) === 'guest') return rejected('invalid', null, null, notPaired);
    const parsed = onboardSchema.safeParse(message.payload);
    if (!parsed.success) return invalid(message.payload, parsed.error);
    const request = { ...parsed.data, agents: parsed.data.agents ?? defaultAgents() };
    if (running.has(request.slug)) return inFlight(request);
    running.add(request.slug);
    try {
      return await perform(request, message, stopping);
    } finally {
      running.delete(request.slug);
    }
  }

  async function perform(
    request: OnboardRequest,
    message: Message,
    stopping: AbortSignal,
  ): Promise<OnboardResult> {
    const steps: Steps = { validate: { status: 'ok' } };
    let folderId: string | undefined;
    steps.github_webhook = await attempt('github_webhook', stopping, (signal) =>
      registerWebhook(request, webhook, signal),
    );
    steps.drive_folder = await attempt('drive_folder', stopping, async (signal) => {
      const outcome = await createFolder(request, folder(), signal);
      folderId = outcome.folderId;
      return outcome.result;
    });
    stopping.throwIfAborted();
    await notify(request, steps, folderId, message);
    steps.bus_notify = { status: 'ok' };
    steps.reply =
      message.reply === undefined ? { status: 'skip', reason: 'nobody asked for a reply' } : { status: 'ok' };
    return onboarded(request, steps);
  }

  /** Records a failure; the pipeline continues. */
  async function attempt(
    step: StepName,
    stopping: AbortSignal,
    work: (signal: AbortSignal) => Promise<StepResult>,
  ): Promise<StepResult> {
    try {
      return await work(AbortSignal.any([stopping, AbortSignal.timeout(stepMs)]));
    } catch (error) {
      logger.warn({ err: error, step }, 'onboarding step failed');
      return { status: 'error', message: errorMessage(error) };
    }
  }

  async function notify(
    { slug, title, github, defaultBranch, team, agents, discord }: OnboardRequest,
    steps: Steps,
    driveFolderId: string | undefined,
    message: Message,
  ): Promise<void> {
    const project = { slug, title, github, defaultBranch, team, agents, discord };
    const payload = { ...project, driveFolderId: driveFolderId ?? null, steps };
    await publish(message, 'message.inbound.onboard.complete', 'onboard-complete', payload);
  }

  async function publish(cause: Message, topic: string, purpose: string, payload: object): Promise<void> {
    const { id: parentId, correlationId } = cause;
    const id = derivedId(parentId, purpose);
    const principal = onBehalf(cause, 'switchboard');
    const plain = JSON.parse(JSON.stringify(payload));
    await bus.publish({ topic, payload: plain, id, correlationId, parentId, principal });
  }

  return { run };
}

function onboarded({ slug, github, title }: OnboardRequest, steps: Steps): OnboardResult {
  const lines = Object.entries(steps).map(([name, result]) => `${name}: ${stepSummary(result)}`);
  const failed = Object.values(steps).some(({ status }) => status === 'error');
  const summary = failed ? `${title} is online, but a step failed` : `${title} is online`;
  const content = `${summary} (${github}).\n${lines.map((line) => `- ${line}`).join('\n')}`;
  return { success: true, step: 'reply', status: 'onboarded', slug, github, summary, steps, content };
}

function stepSummary(result: StepResult): string {
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

type StepName = 'validate' | 'github_webhook' | 'drive_folder' | 'bus_notify' | 'reply';

/** The outcome of a step. */
type StepResult =
  | { status: 'ok'; detail?: string }
  | { status: 'skip'; reason: string }
  | { status: 'error'; message: string };

type Steps = Partial<Record<StepName, StepResult>>;

export interface Repositories {
  /** Why it cannot be used, with the variable. */
  readonly off: string | undefined;
  /** Registers the webhook unless that address has one already. */
  ensureWebhook(
    place: { owner: string; repo: string },
    hook: { url: string; events: readonly string[] },
    signal: AbortSignal,
  ): Promise<'created' | 'exists'>;
}

export interface Folders {
  readonly off: string | undefined;
  /** Creates the folder unless it exists. */
  ensureFolder(
    name: string,
    parentId: string,
    signal: AbortSignal,
  ): Promise<{ id: string; created: boolean }>;
}

interface WebhookSettings {
  /** Undefined when no surface has repositories. */
  repositories: Repositories | undefined;
  /** SWITCHBOARD_PUBLIC_URL. */
  publicUrl: string | undefined;
}

async function registerWebhook(
  { github }: OnboardRequest,
  { repositories, publicUrl }: WebhookSettings,
  signal: AbortSignal,
): Promise<StepResult> {
  if (repositories === undefined) return { status: 'skip', reason: 'no surface has repositories' };
  if (repositories.off !== undefined) return { status: 'skip', reason: repositories.off };
  if (publicUrl === undefined) return { status: 'skip', reason: 'SWITCHBOARD_PUBLIC_URL is not set' };
  const [owner = '', repo = ''] = github.split('/');
  const url = `${publicUrl.replace(/\/+$/, '')}/webhook/codehost`;
  const outcome = await repositories.ensureWebhook({ owner, repo }, { url, events }, signal);
  return outcome === 'created'
    ? { status: 'ok', detail: url }
    : { status: 'skip', reason: `${url} is registered already` };
}

interface FolderSettings {
  /** Undefined when no surface has folders. */
  folders: Folders | undefined;
  /** `drive.orgFolderId` of cloud.yaml; undefined without that file. */
  parentId: string | undefined;
}

async function createFolder(
  { title }: OnboardRequest,
  { folders, parentId }: FolderSettings,
  signal: AbortSignal,
): Promise<{ result: StepResult; folderId?: string }> {
  const skip = (reason: string) => ({ result: { status: 'skip' as const, reason } });
  if (folders === undefined) return skip('no surface has folders');
  if (folders.off !== undefined) return skip(folders.off);
  if (parentId === undefined) return skip('there is no cloud.yaml in the workspace');
  if (parentId === '') return skip('drive.orgFolderId of cloud.yaml is empty');
  const { id, created } = await folders.ensureFolder(title, parentId, signal);
  return { result: { status: 'ok', detail: created ? 'created' : 'was there' }, folderId: id };
}

type OnboardRequest = z.output<typeof onboardSchema> & { agents: string[] };
