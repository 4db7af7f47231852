import type { SettingSource, SettingView } from '@trunkline/std';
import type { Option, OptionTable } from '../options/option.ts';
import { findTexts, type Given, type OptionSources } from '../options/read.ts';
import { whyNotInFile } from './settings-file.ts';

/** Every option of a table that has a variable, with its value and where that comes from; of secrets only that they are set. */
export function describeSettings(table: OptionTable, sources: OptionSources): SettingView[] {
  const texts = findTexts(table, sources);
  return Object.entries(table.options).flatMap(([key, option]) => {
    const [variable] = option.env;
    return variable === undefined ? [] : [viewOf(variable, option, texts.get(key))];
  });
}

function viewOf(variable: string, option: Option<unknown>, given: Given | undefined): SettingView {
  const { doc, heading, expected, toggle, secret, defaultDoc } = option;
  const fallback = secret ? undefined : option.defaultText;
  const shown = secret ? given && 'set' : withoutPasswords(given?.text ?? fallback);
  return {
    variable,
    doc,
    heading: heading ?? null,
    expected,
    choices: option.placeholder.includes('|') ? option.placeholder.split('|') : null,
    isToggle: toggle,
    default: fallback ?? null,
    defaultDoc: defaultDoc ?? null,
    secret,
    value: shown ?? null,
    source: given?.source ?? 'default',
    fixed: whyNotInFile(variable) ?? (given && whyOverridden(given.name, given.source)) ?? null,
  };
}

const PLACES: Partial<Record<SettingSource, string>> = {
  flag: 'as a flag of the command line',
  environment: 'in the environment',
  '.env': 'in .env',
};

function whyOverridden(name: string, source: SettingSource): string | undefined {
  const place = PLACES[source];
  return place && `${name} is set ${place}, which wins over settings.yaml; change it there`;
}

function withoutPasswords(text: string | undefined): string | undefined {
  return text?.replace(/(\/\/[^/@:\s]*):[^@/\s]*@/g, '$1:***@');
}
