import type { OnboardRequest } from './request.ts';

export type StepName = 'validate' | 'github_webhook' | 'drive_folder' | 'bus_notify' | 'reply';

/** How one step went; `skip` says why and `error` what failed. */
export type StepResult =
  | { status: 'ok'; detail?: string }
  | { status: 'skip'; reason: string }
  | { status: 'error'; message: string };

export type Steps = Partial<Record<StepName, StepResult>>;

/** The code host, as far as onboarding needs it. */
export interface Repositories {
  /** Undefined when it can be used; else why not, naming the variable. */
  readonly off: string | undefined;
  /** Registers the webhook unless that address has one already. */
  ensureWebhook(
    place: { owner: string; repo: string },
    hook: { url: string; events: readonly string[] },
    signal: AbortSignal,
  ): Promise<'created' | 'exists'>;
}

/** The cloud suite, as far as onboarding needs it. */
export interface Folders {
  readonly off: string | undefined;
  /** The folder of that name, made if there is none. */
  ensureFolder(
    name: string,
    parentId: string,
    signal: AbortSignal,
  ): Promise<{ id: string; created: boolean }>;
}

const events = ['issues', 'issue_comment', 'pull_request', 'pull_request_review_comment'] as const;

export interface WebhookSettings {
  /** Undefined when no surface has repositories. */
  repositories: Repositories | undefined;
  /** SWITCHBOARD_PUBLIC_URL. */
  publicUrl: string | undefined;
}

export async function registerWebhook(
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

export interface FolderSettings {
  /** Undefined when no surface has folders. */
  folders: Folders | undefined;
  /** `drive.orgFolderId` of cloud.yaml; undefined without that file. */
  parentId: string | undefined;
}

export async function createFolder(
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
