import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type TemporaryDirectory, temporaryDirectory } from '@trunkline/testing';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { z } from 'zod';
import {
  choice,
  decimal,
  defineOptions,
  directory,
  environmentExample,
  group,
  helpText,
  homeOptions,
  integer,
  json,
  list,
  loadEnvironmentFile,
  logOptions,
  modelOptions,
  readOptions,
  referencePage,
  text,
  toggle,
} from '../index.ts';

const voice = defineOptions('voice', 'Voice', {
  ...group('Network', {
    port: integer({ env: ['VOICE_PORT', 'PORT'], flag: '--port', default: 7866, doc: 'Port to listen on.' }),
  }),
  headless: toggle({ env: 'CORE_HEADLESS', flag: '--headless', default: true, doc: 'Serves no page.' }),
  ui: choice({
    env: 'CORE_UI',
    flag: '--ui',
    values: ['full', 'console', 'none'],
    default: 'full',
    doc: 'What to serve.',
  }),
  greeting: text({ env: 'GREETING', default: 'it\'s # a "quote" \\ and a | pipe', doc: 'First words.' }),
  temperature: decimal({ env: 'TEMPERATURE', default: 0.7, doc: 'Spread.' }),
  origins: list({ env: 'ORIGINS', default: ['http://a', 'http://b'], doc: 'Origins.' }),
  servers: json({
    env: 'SERVERS',
    schema: z.array(z.string()),
    expected: 'a JSON list',
    default: ['a b', "c'd"],
    doc: 'Servers.',
  }),
  store: directory({
    env: 'SESSION_STORE_DIR',
    doc: 'Where conversations are kept, so that they survive a restart of the service and of the whole machine alike.',
    defaultDoc: 'a folder under TRUNKLINE_HOME',
  }),
  name: text({ env: 'AGENT_NAME', default: 'voice', doc: 'Name on the card.' }),
  key: text({ env: 'A_KEY', secret: true, default: 'placeholder-key', doc: 'A key.' }),
  setup: toggle({ flag: '--setup', doc: 'Checks the settings and ends.' }),
  veryLong: text({ env: 'A_VARIABLE_WITH_QUITE_A_LONG_NAME_INDEED', doc: 'Long.' }),
  ...modelOptions,
  ...homeOptions,
  ...logOptions,
});
const agent = defineOptions('agent', 'Agent', {
  port: integer({ env: 'AGENT_PORT', flag: '--port', default: 7870, doc: 'Port to listen on.' }),
  name: text({ env: 'AGENT_NAME', default: 'core', doc: 'Prefix of metrics.' }),
  ...modelOptions,
  ...logOptions,
});

describe('helpText', () => {
  const help = helpText('trunkline voice', voice);
  const lines = help.split('\n');
  const lineOf = (part: string) => lines.find((line) => line.includes(part)) ?? '';

  it('stays within 100 columns', () => {
    expect(Math.max(...lines.map((line) => line.length))).toBeLessThanOrEqual(100);
  });

  it('shows flag, variables, meaning and default in aligned columns', () => {
    expect(lineOf('--port')).toMatch(
      /^ {4}--port NUMBER +VOICE_PORT, PORT +Port to listen on\. \[default: 7866\]$/,
    );
    expect(lineOf('--headless')).toMatch(/^ {4}--headless +CORE_HEADLESS +Serves no page\. \[default: 1\]$/);
    expect(lineOf('Port to listen').indexOf('Port to')).toBe(lineOf('First words').indexOf('First words'));
    expect(lineOf('VOICE_PORT').indexOf('VOICE_PORT')).toBe(lineOf('LLM_MODEL ').indexOf('LLM_MODEL'));
  });

  it('moves on to the next line after something wide', () => {
    const at = lines.findIndex((line) => line.includes('A_VARIABLE_WITH_QUITE'));
    expect(lines[at + 1]?.trim()).toBe('Long.');
    expect(lines[at + 1]?.indexOf('Long.')).toBe(lineOf('First words').indexOf('First words'));
  });

  it('marks secrets without their default and tells what happens without a value', () => {
    expect(lineOf('A_KEY')).toMatch(/A key\. \[secret\]$/);
    expect(help).not.toContain('placeholder-key');
    expect(help.replace(/\s+/g, ' ')).toContain('[default: a folder under TRUNKLINE_HOME]');
    expect(help).toContain('[default: ~/.trunkline]');
  });

  it('starts with the command, puts options under headings, and explains toggles', () => {
    expect(lines[0]).toBe('Usage: trunkline voice [flags]');
    expect(lines.indexOf('  Network')).toBeGreaterThan(lines.findIndex((line) => line.includes('--setup')));
    expect(help).toContain('--no- before its name');
  });

  it('tells shared options of several tables once', () => {
    const all = helpText('trunkline', [voice, agent]);
    expect(all.match(/LLM_API_KEY/g)).toHaveLength(1);
    expect(all).toMatch(/\nShared\n[\s\S]*\nVoice\n[\s\S]*\nAgent\n/);
  });
});

describe('environmentExample', () => {
  const example = environmentExample([voice, agent]);
  let temporary: TemporaryDirectory;
  beforeAll(() => {
    temporary = temporaryDirectory();
  });
  afterAll(() => temporary.remove());
  const load = (content: string) => {
    const path = join(temporary.path, '.env');
    writeFileSync(path, content);
    return loadEnvironmentFile(path, {});
  };

  it('lists shared variables once, before those of each service', () => {
    expect(example.match(/LLM_API_KEY=/g)).toHaveLength(1);
    const order = ['== Shared', 'LLM_API_KEY=', '== Voice', 'VOICE_PORT=', '== Agent', 'AGENT_PORT='];
    const places = order.map((part) => example.indexOf(part));
    expect(places).toEqual([...places].sort((left, right) => left - right));
    expect(places).not.toContain(-1);
  });

  it('puts what a command shares with one service into the section of that service', () => {
    const ports = {
      voicePort: integer({ env: 'VOICE_PORT', default: 7866, doc: 'Port of voice.' }),
      agentPort: integer({ env: 'AGENT_PORT', default: 7870, doc: 'Port of the agent.' }),
      apart: text({ env: 'OF_THE_COMMAND', doc: 'Its own.' }),
      ...logOptions,
    };
    const speaker = defineOptions('speaker', 'Speaker', {
      port: integer({ env: ['PORT', 'VOICE_PORT'], doc: 'Port to listen on.' }),
      ...logOptions,
    });
    const up = { ...defineOptions('up', 'Together', ports), isCommand: true };
    const lines = environmentExample([up, speaker, agent]).split('\n');
    const sectionOf = (name: string) => {
      const at = lines.findIndex((line) => line.startsWith(`# ${name}=`));
      return lines.slice(0, at).findLast((line) => line.startsWith('# == '));
    };
    expect(sectionOf('VOICE_PORT')).toContain('Speaker');
    expect(sectionOf('AGENT_PORT')).toContain('Agent');
    expect(sectionOf('OF_THE_COMMAND')).toContain('Together');
    expect(sectionOf('LOG_LEVEL')).toContain('Shared');
    expect(lines.filter((line) => line.startsWith('# VOICE_PORT='))).toHaveLength(1);
  });

  it('leaves secrets blank and comments out everything else', () => {
    const active = example.split('\n').filter((line) => line !== '' && !line.startsWith('#'));
    expect(active).toEqual(['LLM_API_KEY=', 'LLM_HEADERS=', 'A_KEY=', 'TRUNKLINE_SECRETS_KEY=']);
    expect(example).toContain('\n# VOICE_PORT=7866\n');
    expect(example).not.toContain('placeholder-key');
    expect(example).not.toContain('--setup');
  });

  it('changes nothing as it is', () => {
    expect(readOptions(voice, { env: load(example) })).toEqual(readOptions(voice, { env: {} }));
  });

  it('gives the defaults when all of it is switched on', () => {
    const active = example.replace(/^# (?=[A-Z][A-Z0-9_]*=)/gm, '');
    const env = load(active);
    expect(env.VOICE_PORT).toBe('7866');
    expect(readOptions(voice, { env })).toEqual(readOptions(voice, { env: {} }));
    expect(readOptions(agent, { env })).toEqual(readOptions(agent, { env: {} }));
  });

  it('tells other names, and each meaning where services differ', () => {
    expect(example).toContain('Also read from PORT.');
    const together = defineOptions('up', 'Together', { port: integer({ env: 'PORT', doc: 'Of all.' }) });
    const withOwnLine = environmentExample([voice, together]);
    expect(withOwnLine.match(/\bPORT\b/g)).toEqual(['PORT']);
    expect(withOwnLine).toContain('# Of all.\n# PORT=\n');
    expect(example).toContain(
      '# Voice: Name on the card. / Agent: Prefix of metrics.\n# Default: Voice: voice / Agent: core.\n# AGENT_NAME=\n',
    );
  });
});

describe('referencePage', () => {
  const page = referencePage([voice, agent]);

  it('has a table for each heading, with what is in it escaped', () => {
    expect(page).toMatch(/^# Settings\n/);
    expect(page).toContain(
      '\n## Voice\n\n| Variable | Flag | Default | Expected | Meaning |\n|---|---|---|---|---|\n',
    );
    expect(page).toContain('\n### Network\n');
    expect(page).toContain(
      '| `VOICE_PORT`, then `PORT` | `--port` | `7866` | a whole number | Port to listen on. |',
    );
    expect(page).toContain('and a \\| pipe`');
    expect(page).toContain('|  | `--setup` |  |');
  });

  it('marks secrets and keeps their defaults back', () => {
    expect(page).toContain('| `A_KEY` |  |  | text | A key. Secret. |');
    expect(page).not.toContain('placeholder-key');
  });

  it('gives every row the same number of cells', () => {
    const rows = page.split('\n').filter((line) => line.startsWith('|'));
    expect(new Set(rows.map((row) => row.split(/(?<!\\)\|/).length))).toEqual(new Set([7]));
  });
});
