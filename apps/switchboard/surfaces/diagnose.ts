import type { Diagnosis } from '@trunkline/service';
import type { SwitchboardOptions } from '../options.ts';
import { createAccount } from './cloud/surface.ts';
import { CodehostClients } from './codehost/clients.ts';
import { clientSettings } from './codehost/surface.ts';
import { TrackerApi } from './tracker/client.ts';

const callMs = 10_000;

interface Check {
  surface: string;
  /** The variables that switch it on. */
  variables: string;
  isOn: boolean;
  /** Asks the product something harmless; says as whom it answered. */
  ask(signal: AbortSignal): Promise<string>;
}

/** Asks every configured surface who we are there; those that are off are named once. */
export async function diagnoseSurfaces(options: SwitchboardOptions): Promise<Diagnosis[]> {
  const checks = [chat(options), codehost(options), tracker(options), cloud(options), messenger(options)];
  const on = await Promise.all(checks.filter(({ isOn }) => isOn).map(diagnose));
  const off = checks.filter(({ isOn }) => !isOn).map(({ surface, variables }) => `${surface} (${variables})`);
  if (off.length === 0) return on;
  return [...on, { subject: 'surfaces', state: 'ok', words: `off: ${off.join(', ')}.` }];
}

async function diagnose({ surface, variables, ask }: Check): Promise<Diagnosis> {
  const subject = `surface ${surface}`;
  try {
    return { subject, state: 'ok', words: `answers: ${await ask(AbortSignal.timeout(callMs))}.` };
  } catch (error) {
    const words = error instanceof Error ? error.message : String(error);
    return { subject, state: 'failed', words, advice: `Check ${variables}.` };
  }
}

function chat({ chatBotToken, chatApiUrl }: SwitchboardOptions): Check {
  return {
    surface: 'chat',
    variables: 'CHAT_BOT_TOKEN',
    isOn: chatBotToken !== undefined,
    async ask(signal) {
      const { REST } = await import('discord.js');
      const rest = new REST({ version: '10', api: chatApiUrl.replace(/\/+$/, ''), retries: 0 });
      const { username } = (await rest.setToken(chatBotToken ?? '').get('/users/@me', { signal })) as {
        username: string;
      };
      return `signed in as ${username}`;
    },
  };
}

function codehost(options: SwitchboardOptions): Check {
  return {
    surface: 'codehost',
    variables: 'CODEHOST_TOKEN, CODEHOST_APP_ID and CODEHOST_APP_PRIVATE_KEY',
    isOn: options.codehostToken !== undefined,
    async ask(signal) {
      const clients = await CodehostClients.open(clientSettings(options, options.codehostToken));
      return `signed in as ${(await clients.logins(signal)).join(', ')}`;
    },
  };
}

function tracker({ trackerApiKey, trackerApiUrl }: SwitchboardOptions): Check {
  return {
    surface: 'tracker',
    variables: 'TRACKER_API_KEY',
    isOn: trackerApiKey !== undefined,
    async ask(signal) {
      const api = new TrackerApi({ url: trackerApiUrl, apiKey: trackerApiKey, tokens: undefined });
      const { name } = await api.call(signal, (client) => client.viewer);
      return `signed in as ${name}`;
    },
  };
}

function cloud(options: SwitchboardOptions): Check {
  const account = createAccount(options, () => undefined);
  return {
    surface: 'cloud',
    variables: 'CLOUD_CLIENT_ID, CLOUD_CLIENT_SECRET and CLOUD_REFRESH_TOKEN',
    isOn: account !== undefined,
    async ask(signal) {
      await account?.call(signal, async () => undefined);
      return 'the refresh token works';
    },
  };
}

function messenger({ messengerUrl, messengerNumber }: SwitchboardOptions): Check {
  return {
    surface: 'messenger',
    variables: 'MESSENGER_URL and MESSENGER_NUMBER',
    isOn: messengerUrl !== undefined && messengerNumber !== undefined,
    async ask(signal) {
      const response = await fetch(`${(messengerUrl ?? '').replace(/\/+$/, '')}/v1/about`, { signal });
      if (!response.ok) throw new Error(`The bridge answered ${response.status}.`);
      return 'the bridge runs';
    },
  };
}
