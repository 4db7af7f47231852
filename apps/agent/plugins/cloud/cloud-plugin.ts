import { createApiClient } from '../api-client.ts';
import type { Plugin } from '../plugin.ts';
import { cloudTools } from './cloud-tools.ts';
import { Consent } from './consent.ts';
import { TokenStore } from './token-store.ts';

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
      return {
        tools: cloudTools({ mail, calendar, consent, timezone, now }),
        close: async () => consent.close(),
      };
    },
  };
}
