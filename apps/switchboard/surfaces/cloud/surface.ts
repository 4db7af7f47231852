import type { Leader } from '../../cluster/leader.ts';
import type { Plugin, PluginContext } from '../../core/plugin.ts';
import type { SwitchboardOptions } from '../../options.ts';
import type { DeliveryDesk } from '../delivery/delivery-desk.ts';
import { CloudAccount } from './account.ts';
import { pollCalendar } from './calendar-poll.ts';
import { createDocumentWriter } from './documents.ts';
import { pollMail } from './mail-poll.ts';
import { createMailReplier } from './mail-reply.ts';
import { PollState } from './poll-state.ts';
import { Poller } from './poller.ts';

const minuteMs = 60_000;
const off = 'Set CLOUD_CLIENT_ID, CLOUD_CLIENT_SECRET and CLOUD_REFRESH_TOKEN to switch it on.';

/** The account, when all three of its settings are there. */
export function createAccount(
  { cloudClientId, cloudClientSecret, cloudRefreshToken, cloudTokenUrl, cloudApiUrl }: SwitchboardOptions,
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

export interface CloudSurface extends Plugin {
  account: CloudAccount | undefined;
}

/** The cloud suite: calendar and mail in, mail, documents and files out. */
export function createCloudSurface(
  options: SwitchboardOptions,
  desk: DeliveryDesk,
  leader: Leader,
): CloudSurface {
  let context: PluginContext | undefined;
  const account = createAccount(options, (error) => {
    context?.logger.error({ error }, 'the token of the cloud suite could not be renewed');
    const payload = { surface: 'cloud', error };
    context?.bus
      .publish({ topic: 'auth.token_refresh_failed', payload })
      .catch((cause: unknown) => context?.logger.warn({ err: cause }, 'the failure could not be told'));
  });
  let ends: (() => Promise<void> | void)[] = [];
  return {
    name: 'cloud',
    account,
    off: account === undefined ? off : undefined,
    async start(given) {
      context = given;
      if (account === undefined) return;
      ends = [...(await openOutlets(account, given, desk)), ...(await startPolls(account, given, leader))];
    },
    async stop() {
      for (const end of ends.reverse()) await end();
      context = undefined;
    },
  };
}

async function openOutlets(
  account: CloudAccount,
  { workspace }: PluginContext,
  desk: DeliveryDesk,
): Promise<(() => Promise<void>)[]> {
  const folder = () => workspace.cloud()?.drive.orgFolderId || undefined;
  return [
    await desk.open({
      surface: 'cloud',
      patterns: ['message.outbound.cloud.docs', 'message.outbound.cloud.drive'],
      send: createDocumentWriter(account, folder),
    }),
    await desk.open({
      surface: 'cloud-mail',
      patterns: ['cloud.mail.reply.#'],
      send: createMailReplier(account),
    }),
  ];
}

async function startPolls(
  account: CloudAccount,
  { bus, workspace, logger }: PluginContext,
  leader: Leader,
): Promise<(() => Promise<void>)[]> {
  const state = await PollState.open(bus);
  const config = () => workspace.cloud();
  const poll = { account, bus, state };
  const calendarId = () => config()?.calendar.orgCalendarId ?? '';
  const mail = () => config()?.gmail;
  const calendar = new Poller({
    name: 'calendar',
    everyMs: () => (config()?.calendar.pollIntervalMinutes ?? 5) * minuteMs,
    isOn: () => leader.isLeader() && calendarId() !== '',
    poll: (signal) => pollCalendar(poll, calendarId(), signal),
    logger,
  });
  const mails = new Poller({
    name: 'mail',
    everyMs: () => (mail()?.pollIntervalMinutes ?? 5) * minuteMs,
    isOn: () => leader.isLeader() && (mail()?.watchLabels.length ?? 0) > 0,
    poll: async (signal) => {
      const settings = mail();
      if (settings !== undefined) await pollMail(poll, settings, signal);
    },
    logger,
  });
  for (const poller of [calendar, mails]) poller.start();
  return [() => calendar.stop(), () => mails.stop()];
}
