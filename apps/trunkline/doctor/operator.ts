import { statSync } from 'node:fs';
import { isLoopbackHost } from '@trunkline/http';
import { operatorKeyFile } from '@trunkline/identity';
import type { Diagnosis } from '@trunkline/service';
import type { ServiceOptions, UpOptions } from '../fleet/service-options.ts';

/** Who may configure the services and approve what agents do, and who may come in without a key. */
export async function checkOperator(options: UpOptions, services: ServiceOptions): Promise<Diagnosis[]> {
  return [checkKey(options), ...openServices(services)];
}

function checkKey({ trunklineHome, trunklineOpen }: UpOptions): Diagnosis {
  const subject = "operator's key";
  if (trunklineOpen) {
    const words = 'TRUNKLINE_OPEN=1: whoever reaches a service may configure it and approve commands.';
    return { subject, state: 'warning', words, advice: 'Unset it unless this machine is thrown away later.' };
  }
  const path = operatorKeyFile(trunklineHome);
  const mode = modeOf(path);
  if (mode === undefined)
    return { subject, state: 'ok', words: `is created in ${path} when a service starts.` };
  if ((mode & 0o077) === 0) return { subject, state: 'ok', words: `${path}, readable for you only.` };
  const words = `other accounts of this machine can read ${path} (mode ${mode.toString(8)}).`;
  const advice = 'Delete it and restart: a new one is created, and every browser signs in again.';
  return { subject, state: 'failed', words, advice };
}

function modeOf(path: string): number | undefined {
  const mode = statSync(path, { throwIfNoEntry: false })?.mode;
  return mode === undefined ? undefined : mode & 0o777;
}

/** Services that take work without a key: right on a machine of one's own, wrong where others reach it. */
function openServices({ agent, research, voice, switchboard }: ServiceOptions): Diagnosis[] {
  const open = [
    { name: 'agent', host: agent.host, key: agent.authToken, variable: 'A2A_AUTH_TOKEN' },
    { name: 'research', host: research.host, key: research.authToken, variable: 'RESEARCH_AUTH_TOKEN' },
    { name: 'switchboard', host: switchboard.host, key: switchboard.apiKey, variable: 'SWITCHBOARD_API_KEY' },
    { name: 'voice', host: voice.host, key: voice.a2aAuthToken, variable: 'A2A_AUTH_TOKEN' },
  ].filter(({ key }) => key === undefined);
  const exposed = open.filter(({ host }) => !isLoopbackHost(host));
  const found: Diagnosis[] = exposed.map(({ name, host, variable }) => ({
    subject: `${name} is open`,
    state: 'warning',
    words: `it listens on ${host} and takes work from whoever reaches it.`,
    advice: `Set ${variable}, or let it listen on 127.0.0.1.`,
  }));
  const local = open.filter(({ host }) => isLoopbackHost(host)).map(({ name }) => name);
  if (local.length === 0) return found;
  const words = `every account of this machine may give work to ${local.join(', ')}; settings and approvals need the operator's key.`;
  return [...found, { subject: 'open services', state: 'ok', words }];
}
