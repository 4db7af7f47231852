import type { Environment } from '@trunkline/config';
import { operatorAccess, operatorLink, readOperatorKey } from '@trunkline/identity';
import { z } from 'zod';
import { reachable } from '../doctor/ports.ts';
import { readServiceOptions, type UpOptions } from '../fleet/service-options.ts';
import { liveServices } from '../operator/operator-headers.ts';
import { upOptions } from '../options.ts';
import { CommandError, defineCommand } from './command.ts';

const LIMIT_MS = 3000;

const stateSchema = z.object({ open: z.boolean(), key_file: z.string() });

type Answer = z.output<typeof stateSchema> | undefined;

/** Prints a fresh link for each service that runs on this home; the exit code is 1 when there is none. */
export const main = defineCommand({
  usage: 'trunkline login',
  options: upOptions,
  async run(options, env) {
    const home = options.trunklineHome;
    const asked = await Promise.all(
      (await addressesOf(options, env)).map(async (place) => ({ ...place, answer: await ask(place.url) })),
    );
    const running = asked.filter(({ answer }) => answer !== undefined);
    if (running.length === 0)
      throw new CommandError('No service runs. Start them with "npm start", then try again.');
    if (readOperatorKey(home) === undefined)
      throw new CommandError(
        `${home} has no operator's key, so what runs uses another home. ${homeAdvice(running)}`,
      );
    const access = operatorAccess(home);
    const own = running.filter(({ answer }) => answer?.key_file === access.keyFile);
    for (const { name, url } of own) console.log(`${name.padEnd(12)} ${operatorLink(access, url)}`);
    for (const { name, answer } of running) if (answer?.open) console.log(`${name.padEnd(12)} ${openWords}`);
    const others = running.filter(({ answer }) => !answer?.open && answer?.key_file !== access.keyFile);
    for (const { name, answer } of others)
      console.error(`${name} uses another home: its key stands in ${answer?.key_file}.`);
    if (own.length > 0)
      console.log(
        '\nEach link works once, within an hour, and signs the browser in to all services of its host.',
      );
    if (own.length > 0 || others.length === 0) return 0;
    throw new CommandError(homeAdvice(others));
  },
});

const openWords = 'TRUNKLINE_OPEN=1: nobody needs to sign in.';

function homeAdvice(running: readonly { answer: Answer }[]): string {
  const files = running.flatMap(({ answer }) => (answer?.key_file ? [answer.key_file] : []));
  return files.length === 0
    ? openWords
    : `Set TRUNKLINE_HOME to the folder of ${[...new Set(files)].join(' or ')}.`;
}

/** Services that run from this home, at whatever port; the others where the settings have them. */
async function addressesOf(options: UpOptions, env: Environment) {
  const live = await liveServices(options.trunklineHome);
  const set = Object.entries(readServiceOptions(options, env)).map(([name, { host, port }]) => ({
    name,
    url: `http://${reachable(host)}:${port}`,
  }));
  return [...live, ...set.filter(({ name }) => live.every((service) => service.name !== name))];
}

async function ask(url: string): Promise<Answer> {
  try {
    const response = await fetch(`${url}/operator`, { signal: AbortSignal.timeout(LIMIT_MS) });
    const parsed = stateSchema.safeParse(await response.json());
    return parsed.success ? parsed.data : undefined;
  } catch {
    // Nothing answers there, or something that is none of our services.
    return undefined;
  }
}
