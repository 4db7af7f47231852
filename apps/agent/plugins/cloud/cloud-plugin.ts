import { join } from 'node:path';
import { file, group, text } from '@trunkline/config';
import { defineTool, type Tool } from '@trunkline/llm';
import { parseSchedule } from '@trunkline/schedule';
import { clamp, oneLine } from '@trunkline/tools';
import { z } from 'zod';
import { type ApiClient, createApiClient, readJson } from '../api-client.ts';
import { definePlugin, type Plugin } from '../open-plugins.ts';
import { Consent, TokenStore } from './token-store.ts';

export const cloudPlugin = definePlugin({
  options: group('Cloud suite (Google Workspace)', {
    cloudClientId: text({
      env: 'CLOUD_CLIENT_ID',
      doc: "OAuth client id for Google Workspace. The switchboard's cloud surface also needs the secret and CLOUD_REFRESH_TOKEN.",
    }),
    cloudClientSecret: text({
      env: 'CLOUD_CLIENT_SECRET',
      secret: true,
      doc: 'Secret of that OAuth client.',
    }),
    cloudTokenPath: file({
      env: 'CLOUD_TOKEN_PATH',
      doc: "File in which the agent's cloud plugin keeps its OAuth token.",
      defaultDoc: 'cloud-token.json in CORE_CONFIG_DIR',
    }),
    cloudTimeZone: text({
      env: 'CLOUD_TZ',
      doc: "Time zone of the agent's cloud plugin, such as Europe/Berlin.",
      defaultDoc: 'UTC',
    }),
  }),
  create: ({ options, secrets, directory }) =>
    createCloudPlugin({
      clientId: options.cloudClientId,
      clientSecret: options.cloudClientSecret || secrets.cloud.client_secret || undefined,
      tokenPath: options.cloudTokenPath ?? join(directory, 'cloud-token.json'),
      timezone: options.cloudTimeZone,
    }),
});

const MAX_MAILS = 50;

const messageList = z.object({ messages: z.array(z.object({ id: z.string() })).default([]) });

const message = z.object({
  snippet: z.string().default(''),
  payload: z.object({ headers: z.array(z.object({ name: z.string(), value: z.string() })).default([]) }),
});

const moment = z.object({ dateTime: z.string().optional(), date: z.string().optional() });

const events = z.object({
  items: z
    .array(
      z.object({
        summary: z.string().default('(no title)'),
        location: z.string().optional(),
        start: moment,
        end: moment,
      }),
    )
    .default([]),
});

export interface CloudPluginOptions {
  clientId?: string | undefined;
  clientSecret?: string | undefined;
  tokenPath: string;
  /** Zone in which a day begins and ends; UTC when left out. */
  timezone?: string | undefined;
  now?: () => Date;
  urls?: Partial<CloudUrls>;
}

interface CloudUrls {
  auth: string;
  token: string;
  mail: string;
  calendar: string;
}

const GOOGLE: CloudUrls = {
  auth: 'https://accounts.google.com/o/oauth2/v2/auth',
  token: 'https://oauth2.googleapis.com/token',
  mail: 'https://gmail.googleapis.com/gmail/v1',
  calendar: 'https://www.googleapis.com/calendar/v3',
};
const SCOPES = [
  'https://www.googleapis.com/auth/gmail.readonly',
  'https://www.googleapis.com/auth/calendar.readonly',
];

/** Mail and calendar of a Google account, read only. */
export function createCloudPlugin(options: CloudPluginOptions): Plugin {
  const { clientId = '', clientSecret = '', tokenPath, timezone = 'UTC', now = () => new Date() } = options;
  const urls = { ...GOOGLE, ...options.urls };
  return {
    id: 'cloud',
    description: 'Reads mail and calendar of the day.',
    missing: () =>
      clientId === '' || clientSecret === '' ? 'set CLOUD_CLIENT_ID and CLOUD_CLIENT_SECRET.' : undefined,
    async open({ logger }) {
      const tokens = new TokenStore(tokenPath, { clientId, clientSecret, tokenUrl: urls.token }, () =>
        now().getTime(),
      );
      const consent = new Consent({ authUrl: urls.auth, clientId, scopes: SCOPES, tokens, logger });
      const headers = async () => ({ authorization: `Bearer ${await tokens.accessToken()}` });
      const mail = createApiClient({ name: 'The mail service', url: urls.mail, headers });
      const calendar = createApiClient({ name: 'The calendar', url: urls.calendar, headers });
      const deps = { mail, calendar, consent, timezone, now };
      return {
        tools: [connect(deps), mailToday(deps), calendarToday(deps)],
        close: async () => consent.close(),
      };
    },
  };
}

interface CloudToolOptions {
  mail: ApiClient;
  calendar: ApiClient;
  consent: Pick<Consent, 'begin'>;
  timezone: string;
  now: () => Date;
}

function connect({ consent }: CloudToolOptions): Tool {
  return defineTool({
    name: 'cloud_connect',
    effects: ['configures'],
    description: 'Gives an address that the person opens to connect mail and calendar.',
    input: z.object({}),
    execute: async () =>
      `Open this on the machine of the agent within five minutes: ${await consent.begin()}`,
  });
}

function mailToday({ mail, timezone, now }: CloudToolOptions): Tool {
  return defineTool({
    name: 'cloud_mail_today',
    effects: ['reads'],
    external: true,
    description: "Lists today's mail.",
    input: z.object({ limit: z.number().int().default(20).describe('From 1 to 50.') }),
    execute: async ({ limit }, { signal }) => {
      const { start, end } = dayOf(now(), timezone);
      const query = new URLSearchParams({
        q: `after:${start.getTime() / 1000} before:${end.getTime() / 1000}`,
        maxResults: String(clamp(limit, 1, MAX_MAILS)),
      });
      const { messages } = await readJson(mail, `/users/me/messages?${query}`, messageList, signal);
      const lines = await Promise.all(messages.map(({ id }) => mailLine(mail, id, signal)));
      return lines.join('\n') || 'No mail today.';
    },
  });
}

async function mailLine(mail: ApiClient, id: string, signal: AbortSignal): Promise<string> {
  const path = `/users/me/messages/${encodeURIComponent(id)}?format=metadata&metadataHeaders=From&metadataHeaders=Subject`;
  const { payload, snippet } = await readJson(mail, path, message, signal);
  const header = (name: string) =>
    payload.headers.find((each) => each.name.toLowerCase() === name)?.value ?? '';
  return `${oneLine(header('from'), 100)}: ${oneLine(header('subject'), 200)} (${oneLine(snippet, 200)})`;
}

function calendarToday({ calendar, timezone, now }: CloudToolOptions): Tool {
  return defineTool({
    name: 'cloud_calendar_today',
    effects: ['reads'],
    external: true,
    description: "Lists today's appointments.",
    input: z.object({}),
    execute: async (_input, { signal }) => {
      const { start, end } = dayOf(now(), timezone);
      const query = new URLSearchParams({
        timeMin: start.toISOString(),
        timeMax: end.toISOString(),
        singleEvents: 'true',
        orderBy: 'startTime',
        timeZone: timezone,
      });
      const { items } = await readJson(calendar, `/calendars/primary/events?${query}`, events, signal);
      return items.map(eventLine).join('\n') || 'No appointments today.';
    },
  });
}

function eventLine({ summary, location, start, end }: z.output<typeof events>['items'][number]): string {
  const when =
    start.dateTime === undefined
      ? 'all day'
      : `${clockTime(start.dateTime)}-${clockTime(end.dateTime ?? '')}`;
  return `${when} ${oneLine(summary, 200)}${location === undefined ? '' : ` @ ${oneLine(location, 100)}`}`;
}

function clockTime(dateTime: string): string {
  return dateTime.slice(11, 16);
}

interface Day {
  start: Date;
  end: Date;
}

/** The day of that moment by the calendar of a zone; days of a clock change are shorter or longer. */
export function dayOf(now: Date, timezone: string): Day {
  const today = dateIn(now, timezone);
  const noonTomorrow = new Date(Date.parse(`${today}T12:00:00Z`) + 86_400_000).toISOString().slice(0, 10);
  return { start: midnight(today, timezone), end: midnight(noonTomorrow, timezone) };
}

function dateIn(now: Date, timezone: string): string {
  return new Intl.DateTimeFormat('sv-SE', { timeZone: timezone, dateStyle: 'short' }).format(now);
}

function midnight(date: string, timezone: string): Date {
  return new Date(parseSchedule(`${date}T00:00:00`, { timezone }).next(0) ?? Number.NaN);
}
