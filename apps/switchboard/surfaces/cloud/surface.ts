import { group, text, url } from '@trunkline/config';
import type { Leader } from '../../cluster/leader.ts';
import type { PluginContext } from '../../core/plugins.ts';
import { Poller } from '../../core/timers.ts';
import { reportRefreshFailure } from '../access-tokens.ts';
import type { Deliveries } from '../delivery/deliveries.ts';
import { defineSurface, type SurfaceOptions } from '../surface.ts';
import { CloudAccount } from './account.ts';
import { PollState, pollCalendar } from './calendar.ts';
import { createDocumentWriter, createFolders } from './documents.ts';
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
