import { existsSync, readFileSync } from 'node:fs';
import { join, resolve, sep } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { type Environment, parseYaml } from '@trunkline/config';
import type { Diagnosis } from '@trunkline/service';
import { errorMessage } from '@trunkline/std';
import { safeFileName, serviceHome } from '@trunkline/storage';
import type { AgentOptions } from '../options.ts';
import { configSchema } from '../setup/config-schema.ts';
import { configFileOf, imageRoot, instanceOf } from '../setup/places.ts';
import { otherNames } from './former-names.ts';

/** What to do about schedules that no agent runs. */
export const strayAdvice = 'Start that agent, set AGENT_NAME back, or delete the folder.';

/**
 * Names schedules that no agent runs: those of a name that nobody owns, in a folder that several agents may share.
 * Changes nothing, as the agent may be running.
 */
export function diagnoseSchedules(options: AgentOptions, env: Environment): Diagnosis[] {
  const { schedulerDisabled, schedulerBackend, agentName } = options;
  const shared = sharedFolder(options);
  if (shared === undefined || schedulerDisabled || schedulerBackend === 'switchboard') return [];
  const subject = 'schedules';
  try {
    const directory = folderOf(shared, options, env);
    const strays = otherNames({ directory, agentName }).unowned.flatMap((name) => {
      const jobs = countJobs(join(directory, name, 'jobs.db'));
      return jobs === 0 ? [] : [`${name} (${jobs})`];
    });
    if (strays.length === 0) return [{ subject, state: 'ok', words: `each in ${directory} has an agent.` }];
    const words = `those of ${strays.join(', ')} in ${directory} do not run.`;
    return [{ subject, state: 'warning', words, advice: strayAdvice }];
  } catch (error) {
    const advice = 'Check SCHEDULER_DB_DIR and agent.yaml.';
    return [{ subject, state: 'failed', words: errorMessage(error), advice }];
  }
}

/** Undefined for the agent's own folder, where all schedules are its own. */
function sharedFolder({ schedulerDbDirectory, trunklineHome }: AgentOptions): string | undefined {
  const inImage = existsSync(imageRoot) ? join(imageRoot, 'scheduler') : undefined;
  const folder = schedulerDbDirectory ?? inImage;
  return folder?.startsWith(serviceHome(trunklineHome, 'agent') + sep) ? undefined : folder;
}

/** Each instance has a folder of its own. */
function folderOf(shared: string, options: AgentOptions, env: Environment): string {
  const file = configFileOf(options);
  const instance = existsSync(file)
    ? instanceOf(options, parseYaml(readFileSync(file, 'utf8'), configSchema, { file, env, secrets: 'show' }))
    : options.instance;
  return resolve(shared, instance === undefined ? '' : safeFileName(instance));
}

function countJobs(path: string): number {
  const database = new DatabaseSync(path, { readOnly: true });
  try {
    return Number(database.prepare('SELECT count(*) AS jobs FROM jobs').get()?.jobs);
  } finally {
    database.close();
  }
}
