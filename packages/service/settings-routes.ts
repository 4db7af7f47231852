import {
  ConfigError,
  describeSettings,
  parseSettings,
  readSettingsText,
  settingsPath,
} from '@trunkline/config';
import { type App, describeRoute, requireOperator, validate } from '@trunkline/http';
import type { AuditRecorder, OperatorAccess } from '@trunkline/identity';
import type { SettingsView } from '@trunkline/std';
import { z } from 'zod';
import { secretErrors } from './secrets-routes.ts';
import {
  type SettingsPlace,
  saveSettings,
  settingsErrors,
  sourcesOf,
  variablesOf,
} from './settings-change.ts';

const MOST_CHANGES = 100;
const LONGEST = 64 * 1024;

const body = z
  .record(z.string(), z.string().max(LONGEST).nullable())
  .refine((changes) => Object.keys(changes).length <= MOST_CHANGES, `at most ${MOST_CHANGES} at once`);

export interface SettingsDeps extends SettingsPlace {
  service: string;
  operator: OperatorAccess;
  audit: AuditRecorder;
}

/** The options of the service, where their values come from, and the way to change them in settings.yaml. */
export function mountSettings<Caller>(app: App<Caller>, deps: SettingsDeps): void {
  app.use('/operator/settings', requireOperator(deps.operator));
  const { setting_refused, setting_fixed, settings_unusable } = settingsErrors;
  const show = describeRoute({
    summary: 'Every option of this service, its value, and where that comes from',
    errors: [settings_unusable],
  });
  app.get('/operator/settings', show, (context) => context.json(viewOf(deps)));
  const change = describeRoute({
    summary: 'Set options of any service in settings.yaml; null removes one. Services restart themselves',
    errors: [setting_refused, setting_fixed, settings_unusable, ...secretErrors],
  });
  app.patch('/operator/settings', change, validate('json', body), async (context) => {
    const changes = context.req.valid('json');
    await saveSettings(deps, changes);
    const subject = Object.keys(changes).join(', ');
    const principal = context.get('principal');
    deps.audit.record({
      service: deps.service,
      action: 'settings.change',
      subject,
      principal,
      result: 'done',
    });
    return context.json(viewOf(deps));
  });
}

function viewOf({ service, home, settings }: SettingsDeps): SettingsView {
  const file = settingsPath(home);
  return {
    service,
    file,
    settings: describeSettings(settings.table, sourcesOf(home, settings)).map((setting) => {
      const chosen = settings.defaults?.[setting.variable];
      if (chosen === undefined || setting.source !== 'default') return setting;
      return { ...setting, default: chosen, value: chosen };
    }),
    problem: problemOf(file, settings) ?? null,
  };
}

/** What is wrong with the file now, or with the last start by it. */
function problemOf(file: string, { table, problem }: SettingsDeps['settings']): string | undefined {
  try {
    parseSettings(readSettingsText(file) ?? '', file, variablesOf([table]));
    return problem?.();
  } catch (error) {
    if (error instanceof ConfigError) return error.message;
    throw error;
  }
}
