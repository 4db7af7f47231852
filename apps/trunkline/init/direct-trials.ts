import { AuditLog } from '@trunkline/audit';
import { type Environment, type Logger, readOptions, secretStoreOf } from '@trunkline/config';
import { trySearch } from '@trunkline/research';
import { saveSettings } from '@trunkline/service';
import { errorMessage } from '@trunkline/std';
import { checkConnector, connectorsView } from '@trunkline/switchboard';
import { directSpeech } from '@trunkline/voice';
import { CommandError } from '../commands/command.ts';
import { readServiceOptions, serviceTables } from '../fleet/service-options.ts';
import { upOptions } from '../options.ts';
import type { Trials } from './trials.ts';

const searchMs = 20_000;

interface DirectDeps {
  /** TRUNKLINE_HOME. */
  home: string;
  env: Environment;
  logger: Logger;
}

/** Without a service that runs: as its own routes do it, and written into settings.yaml for its next start. */
export function directTrials({ home, env: given, logger }: DirectDeps): Trials {
  const env = { ...given, TRUNKLINE_HOME: home };
  const options = () => readServiceOptions(readOptions(upOptions, { env }), env);
  const { signal } = new AbortController();
  const tables = Object.values(serviceTables);
  return {
    speech: () => explained(() => directSpeech(options().voice, logger).view()),
    say: (sample) => explained(() => directSpeech(options().voice, logger).say(sample, signal)),
    search: ({ query, ...given }) =>
      explained(async () => {
        const found = await trySearch(query, given, options().research, AbortSignal.timeout(searchMs));
        return found ?? { results: [], troubles: [] };
      }),
    connectors: () => explained(() => connectorsView(options().switchboard)),
    checkConnector: (name, values) =>
      explained(() => checkConnector(name, { options: options().switchboard, values }, signal)),
    change: (values) =>
      explained(async () => {
        const settings = { table: upOptions, tables, env };
        await saveSettings({ home, secrets: secretStoreOf(env), settings }, values);
        recordChange(home, 'settings.change', Object.keys(values).join(', '));
      }),
  };
}

/** For the audit log: what the person at this terminal set. */
export function recordChange(home: string, action: string, subject: string): void {
  const log = new AuditLog({ home, logger: console });
  log.record({
    service: 'trunkline',
    action,
    subject,
    principal: { kind: 'operator', id: 'command line', via: [] },
    result: 'done',
  });
  log.close();
}

async function explained<Result>(work: () => Result | Promise<Result>): Promise<Result> {
  try {
    return await work();
  } catch (error) {
    throw new CommandError(errorMessage(error), { cause: error });
  }
}
