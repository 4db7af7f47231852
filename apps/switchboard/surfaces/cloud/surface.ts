import { Readable } from 'node:stream';
import { group, text, url } from '@trunkline/config';
import { z } from 'zod';
import type { Leader } from '../../cluster/leader.ts';
import type { PluginContext } from '../../core/plugins.ts';
import { Poller } from '../../core/timers.ts';
import type { Folders } from '../../onboarding/pipeline.ts';
import { reportRefreshFailure } from '../access-tokens.ts';
import type { Deliveries } from '../delivery/deliveries.ts';
import { type DeliveryAttempt, DeliveryError } from '../delivery/outbox.ts';
import { defineSurface, type SurfaceOptions } from '../surface.ts';
import { CloudAccount } from './account.ts';
import { PollState, pollCalendar } from './calendar.ts';
import { createMailReplier, pollMail } from './mail.ts';

const minuteMs = 60_000;
const variables = 'CLOUD_CLIENT_ID, CLOUD_CLIENT_SECRET and CLOUD_REFRESH_TOKEN';

const options = group('Cloud suite (Google Workspace)', {
  cloudClientId: text({
    env: 'CLOUD_CLIENT_ID',
    doc: "OAuth client id for Google Workspace. The switchboard's cloud surface also needs the secret and CLOUD_REFRESH_TOKEN.",
  }),
  cloudClientSecret: text({ env: 'CLOUD_CLIENT_SECRET', secret: true, doc: 'Secret of that OAuth client.' }),
  cloudRefreshToken: text({
    env: 'CLOUD_REFRESH_TOKEN',
    secret: true,
    doc: 'Refresh token of the account to read and write.',
  }),
  cloudApiUrl: url({
    env: 'CLOUD_API_URL',
    doc: 'One address for all Google APIs, for a proxy of your own.',
    defaultDoc: "Google's own addresses",
  }),
  cloudTokenUrl: url({
    env: 'CLOUD_TOKEN_URL',
    default: 'https://oauth2.googleapis.com/token',
    doc: 'Address that exchanges refresh tokens.',
  }),
});

type CloudOptions = SurfaceOptions<typeof options>;

/** Google Workspace: calendar and mail in; mail, documents and files out. */
export const cloudSurface = defineSurface({
  name: 'cloud',
  title: 'Google Workspace',
  guide:
    "Make an OAuth client in Google's console and a refresh token for the account that is read and written.",
  options,
  variables,
  carriesQuestions: false,
  hasChannels: true,
  test: { topic: 'message.outbound.cloud.docs' },
  durableTopics: ['cloud.mail.reply.#'],
  outlets: { 'cloud-mail': ['cloud.mail.reply.#'] },
  create(settings, { deliveries, leader }) {
    let context: PluginContext | undefined;
    const account = createAccount(settings, (error) => {
      if (context !== undefined) reportRefreshFailure('cloud', error, context.bus, context.logger);
    });
    let ends: (() => Promise<void> | void)[] = [];
    return {
      off: account === undefined ? `Set ${variables} to switch it on.` : undefined,
      folders: createFolders(account),
      async start(given) {
        context = given;
        if (account === undefined) return;
        ends = [
          ...(await openOutlets(account, given, deliveries)),
          ...(await startPolls(account, given, leader)),
        ];
      },
      async stop() {
        for (const end of ends.reverse()) await end();
        context = undefined;
      },
    };
  },
  diagnose(settings) {
    const account = createAccount(settings, () => undefined);
    if (account === undefined) return undefined;
    return async (signal) => {
      await account.call(signal, async () => undefined);
      return 'the refresh token works';
    };
  },
});

/** Undefined unless all three settings are set. */
function createAccount(
  { cloudClientId, cloudClientSecret, cloudRefreshToken, cloudTokenUrl, cloudApiUrl }: CloudOptions,
  onRefreshFailed: (words: string) => void,
): CloudAccount | undefined {
  if (!cloudClientId || !cloudClientSecret || !cloudRefreshToken) return undefined;
  return new CloudAccount({
    clientId: cloudClientId,
    clientSecret: cloudClientSecret,
    refreshToken: cloudRefreshToken,
    tokenUrl: cloudTokenUrl,
    apiUrl: cloudApiUrl,
    onRefreshFailed,
  });
}

async function openOutlets(
  account: CloudAccount,
  { workspace, files }: PluginContext,
  deliveries: Deliveries,
): Promise<(() => Promise<void>)[]> {
  const folder = () => workspace.cloud()?.drive.orgFolderId || undefined;
  return [
    await deliveries.open({
      surface: 'cloud',
      patterns: ['message.outbound.cloud.docs', 'message.outbound.cloud.drive'],
      send: createDocumentWriter(account, folder),
    }),
    await deliveries.open({
      surface: 'cloud-mail',
      patterns: ['cloud.mail.reply.#'],
      send: createMailReplier(account, files),
    }),
  ];
}

async function startPolls(
  account: CloudAccount,
  { bus, workspace, logger, senders, files }: PluginContext,
  leader: Leader,
): Promise<(() => Promise<void>)[]> {
  const state = await PollState.open(bus);
  const config = () => workspace.cloud();
  const poll = { account, bus, state, senders, files };
  const calendarId = () => config()?.calendar.orgCalendarId ?? '';
  const mail = () => config()?.gmail;
  const failed = (poll: string) => (error: unknown) =>
    logger.warn({ err: error, poll }, 'failed to poll the cloud suite; retrying');
  const calendar = new Poller({
    everyMs: () => (config()?.calendar.pollIntervalMinutes ?? 5) * minuteMs,
    isOn: () => leader.isLeader() && calendarId() !== '',
    poll: (signal) => pollCalendar(poll, calendarId(), signal),
    onError: failed('calendar'),
  });
  const mails = new Poller({
    everyMs: () => (mail()?.pollIntervalMinutes ?? 5) * minuteMs,
    isOn: () => leader.isLeader() && (mail()?.watchLabels.length ?? 0) > 0,
    poll: async (signal) => {
      const settings = mail();
      if (settings !== undefined) await pollMail(poll, settings, signal);
    },
    onError: failed('mail'),
  });
  for (const poller of [calendar, mails]) poller.start();
  return [() => calendar.stop(), () => mails.stop()];
}

const folderType = 'application/vnd.google-apps.folder';

const docSchema = z.object({
  content: z.string().min(1),
  title: z.string().min(1).default('Untitled'),
  /** Appends to this document instead of creating one. */
  documentId: z.string().optional(),
  folderId: z.string().optional(),
});

const fileSchema = z.object({
  content: z.string().min(1),
  name: z.string().min(1).default('untitled.md'),
  mimeType: z.string().min(1).default('text/markdown'),
  folderId: z.string().optional(),
});

/** Handles `message.outbound.cloud.docs` and `.drive`. */
function createDocumentWriter(account: CloudAccount, defaultFolder: () => string | undefined) {
  return (attempt: DeliveryAttempt): Promise<void> =>
    attempt.message.topic === 'message.outbound.cloud.docs'
      ? writeDocument(attempt, account, defaultFolder)
      : writeFile(attempt, account, defaultFolder);
}

/** In resumable steps: a second attempt continues with the document of the first. */
async function writeDocument(
  { message, signal, done, arrived }: DeliveryAttempt,
  account: CloudAccount,
  defaultFolder: () => string | undefined,
): Promise<void> {
  const { content, title, folderId = defaultFolder(), ...given } = read(docSchema, message.payload);
  const docs = await account.docs();
  let documentId = given.documentId ?? done[0];
  if (documentId === undefined) {
    const made = await account.call(signal, (options) =>
      docs.documents.create({ requestBody: { title } }, options),
    );
    documentId = made.data.documentId ?? '';
    arrived(documentId);
  }
  if (folderId && given.documentId === undefined) await moveInto(account, documentId, folderId, signal);
  const requests = [{ insertText: { text: `${content}\n`, endOfSegmentLocation: {} } }];
  const target = documentId;
  await account.call(signal, (options) =>
    docs.documents.batchUpdate({ documentId: target, requestBody: { requests } }, options),
  );
  if (given.documentId !== undefined) arrived(documentId);
}

async function moveInto(
  account: CloudAccount,
  fileId: string,
  folderId: string,
  signal: AbortSignal,
): Promise<void> {
  const drive = await account.drive();
  await account.call(signal, (options) =>
    drive.files.update({ fileId, addParents: folderId, supportsAllDrives: true, fields: 'id' }, options),
  );
}

async function writeFile(
  { message, signal, arrived }: DeliveryAttempt,
  account: CloudAccount,
  defaultFolder: () => string | undefined,
): Promise<void> {
  const { content, name, mimeType, folderId = defaultFolder() } = read(fileSchema, message.payload);
  const drive = await account.drive();
  const requestBody = { name, ...(folderId && { parents: [folderId] }) };
  const made = await account.call(signal, (options) =>
    drive.files.create(
      {
        requestBody,
        media: { mimeType, body: Readable.from([content]) },
        fields: 'id',
        supportsAllDrives: true,
      },
      options,
    ),
  );
  arrived(made.data.id ?? '');
}

function read<Schema extends z.ZodType>(schema: Schema, payload: unknown): z.output<Schema> {
  const parsed = schema.safeParse(payload);
  if (parsed.success) return parsed.data;
  throw new DeliveryError(`The message cannot be written: ${z.prettifyError(parsed.error)}`, {
    permanent: true,
  });
}

function createFolders(account: CloudAccount | undefined): Folders {
  return {
    off:
      account === undefined
        ? 'CLOUD_CLIENT_ID, CLOUD_CLIENT_SECRET and CLOUD_REFRESH_TOKEN are not set'
        : undefined,
    async ensureFolder(name, parentId, signal) {
      if (account === undefined) throw new Error('The cloud suite is not configured.');
      const drive = await account.drive();
      const q = `name = '${quoted(name)}' and '${quoted(parentId)}' in parents and mimeType = '${folderType}' and trashed = false`;
      const shared = { supportsAllDrives: true };
      const found = await account.call(signal, (options) =>
        drive.files.list({ q, fields: 'files(id)', includeItemsFromAllDrives: true, ...shared }, options),
      );
      const known = found.data.files?.[0]?.id;
      if (known) return { id: known, created: false };
      const requestBody = { name, mimeType: folderType, parents: [parentId] };
      const made = await account.call(signal, (options) =>
        drive.files.create({ requestBody, fields: 'id', ...shared }, options),
      );
      return { id: made.data.id ?? '', created: true };
    },
  };
}

function quoted(text: string): string {
  return text.replace(/[\\']/g, '\\$&');
}
