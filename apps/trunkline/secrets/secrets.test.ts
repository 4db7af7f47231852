import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { text as textOf } from 'node:stream/consumers';
import { AuditLog } from '@trunkline/audit';
import { loadEnvironmentFile, secretStoreOf } from '@trunkline/config';
import { type TemporaryDirectory, temporaryDirectory } from '@trunkline/testing';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { main } from '../commands/secret.ts';
import { checkPlainSecrets, findPlainSecrets, importOptions, importSecrets } from './import-secrets.ts';

let temporary: TemporaryDirectory;
let home: string;
let env: Record<string, string>;
beforeAll(() => {
  temporary = temporaryDirectory();
  home = join(temporary.path, 'home');
  mkdirSync(home);
  env = { TRUNKLINE_HOME: home };
});
afterAll(() => temporary.remove());

/** What a command prints, and its exit code. */
async function run(...argv: string[]): Promise<{ code: number; output: string }> {
  const lines: string[] = [];
  const spies = (['log', 'error'] as const).map((name) =>
    vi.spyOn(console, name).mockImplementation((line: string) => void lines.push(line)),
  );
  const code = await main(argv, env);
  for (const spy of spies) spy.mockRestore();
  return { code, output: lines.join('\n') };
}

/** Values come through standard input, so this needs a process of its own. */
async function runWith(input: string, ...argv: string[]) {
  const bin = join(import.meta.dirname, '../../../bin/trunkline.js');
  const child = spawn(process.execPath, [bin, 'secret', ...argv], {
    cwd: temporary.path,
    env: { ...env, PATH: process.env.PATH },
  });
  child.stdin.end(input);
  const [output, errors, [code]] = await Promise.all([
    textOf(child.stdout),
    textOf(child.stderr),
    once(child, 'exit') as Promise<[number]>,
  ]);
  return { code, output: output + errors };
}

describe('trunkline secret', () => {
  it('stores what comes through standard input, and lists it without its value', async () => {
    const stored = await runWith('sesame-cli-1\n', 'set', 'first');
    expect(stored).toEqual({ code: 0, output: `Stored. Refer to it as \${secret:first}.\n` });
    expect(secretStoreOf(env).get('first', 'LLM_API_KEY')).toBe('sesame-cli-1');
    const { code, output } = await run('list');
    expect(code).toBe(0);
    expect(output).toMatch(/^first {2}changed \d{4}-\d\d-\d\d \d\d:\d\d {2}used .*\n {4}LLM_API_KEY$/);
  });

  it('takes no value from the command line and shows none without a terminal', async () => {
    const refused = await run('set', 'second', 'sesame-argv');
    expect([refused.code, secretStoreOf(env).get('second')]).toEqual([2, undefined]);
    expect(refused.output).not.toContain('sesame-argv');
    expect(await run('get', 'first')).toMatchObject({ code: 2 });
    const shown = await run('get', 'first', '--show');
    expect(shown.code).toBe(1);
    expect(shown.output).not.toContain('sesame');
  });

  it('rotates the key, removes, and records who did what without values', async () => {
    const key = readFileSync(join(home, 'secrets-key'), 'utf8');
    expect((await run('rotate-key')).code).toBe(0);
    expect(readFileSync(join(home, 'secrets-key'), 'utf8')).not.toBe(key);
    secretStoreOf(env).set('gone', 'sesame-gone');
    expect((await run('remove', 'gone')).code).toBe(0);
    expect(await run('remove', 'gone')).toMatchObject({ code: 1, output: 'There is no secret gone.' });
    const log = new AuditLog({ home, logger: console });
    const entries = log.list().map(({ action, subject, principal }) => [action, subject, principal]);
    log.close();
    expect(entries.map(([action]) => action)).toEqual(['secret.remove', 'secret.rotate-key', 'secret.set']);
    expect(entries[2]).toEqual(['secret.set', 'first', 'operator:command line']);
  });

  it('helps, and says what is wrong', async () => {
    const help = await run('--help');
    expect([help.code, help.output]).toEqual([
      0,
      expect.stringContaining(`LLM_API_KEY=\${secret:llm-api-key}`),
    ]);
    expect(await run('nonsense')).toMatchObject({ code: 2 });
    const { code, output } = await run('set');
    expect([code, output]).toEqual([2, 'Usage: trunkline secret set NAME']);
    env.TRUNKLINE_SECRETS_KEY = 'another-key-of-at-least-32-letters';
    expect((await run('import')).output).not.toContain('sesame');
    delete env.TRUNKLINE_SECRETS_KEY;
  });
});

describe('importing plain secrets', () => {
  const variables = `# mine
LLM_MODEL=some-model
export LLM_API_KEY="sesame-env-1" # the key
A2A_AUTH_TOKEN=\${secret:first}
SWITCHBOARD_API_KEY=
GITHUB_TOKEN='sesame-env-2'
TRUNKLINE_SECRETS_KEY=
PEER_X_TOKEN="sesame
env-3"
`;
  const config = `# the agent
model:
  name: sesame-not-a-secret
mcp:
  servers:
    - name: web
      url: http://127.0.0.1:9/mcp
      headers: { Authorization: Bearer sesame-yaml-1, X-Trace: plain-text }   # mine
    - name: local
      command: "true"
      env:
        API_TOKEN: 'sesame-yaml-2'
        OTHER_TOKEN: \${GITHUB_TOKEN}
`;
  const places = () => ({
    ...importOptions(home, env, secretStoreOf(env)),
    environmentFile: join(temporary.path, '.env'),
  });

  it('moves them into the store, leaves references and copies, and changes nothing else', async () => {
    const [variableFile, configFile] = [join(temporary.path, '.env'), join(home, 'agent/config/agent.yaml')];
    mkdirSync(join(home, 'agent/config'), { recursive: true });
    writeFileSync(variableFile, variables);
    writeFileSync(configFile, config);
    const found = findPlainSecrets(places());
    expect(found.map(({ place, name }) => [place, name])).toEqual([
      ['LLM_API_KEY', 'llm-api-key'],
      ['GITHUB_TOKEN', 'github-token'],
      ['PEER_X_TOKEN', 'peer-x-token'],
      ['mcp.servers.headers.web.Authorization', 'agent-agent-mcp-servers-headers-web-authorization'],
      ['mcp.servers.env.local.API_TOKEN', 'agent-agent-mcp-servers-env-local-api-token'],
    ]);
    expect(readFileSync(variableFile, 'utf8')).toBe(variables);
    const finding = checkPlainSecrets(places());
    expect(finding).toMatchObject({ subject: 'plain secrets', state: 'warning' });
    expect(JSON.stringify(finding)).not.toContain('sesame');

    const copies = await importSecrets(found, places());
    expect(readFileSync(variableFile, 'utf8')).toBe(
      variables
        .replace('"sesame-env-1" # the key', `\${secret:llm-api-key}`)
        .replace("'sesame-env-2'", `\${secret:github-token}`)
        .replace('"sesame\nenv-3"', `\${secret:peer-x-token}`),
    );
    expect(readFileSync(configFile, 'utf8')).toBe(
      config
        .replace('Bearer sesame-yaml-1', `"\${secret:agent-agent-mcp-servers-headers-web-authorization}"`)
        .replace("'sesame-yaml-2'", `"\${secret:agent-agent-mcp-servers-env-local-api-token}"`),
    );
    const values = readdirSync(copies).map((name) => readFileSync(join(copies, name), 'utf8'));
    expect(values.sort()).toEqual([variables, config].sort());
    const all = loadEnvironmentFile(variableFile, env);
    expect(secretStoreOf(all).get('peer-x-token')).toBe('sesame\nenv-3');
    expect([findPlainSecrets(places()), checkPlainSecrets(places()).state]).toEqual([[], 'ok']);
  });

  it('takes another name for another value', async () => {
    writeFileSync(join(temporary.path, '.env'), 'LLM_API_KEY=sesame-other\n');
    expect(findPlainSecrets(places()).map(({ name }) => name)).toEqual(['llm-api-key-2']);
    await checkPlainSecrets(places()).fix?.();
    expect(readFileSync(join(temporary.path, '.env'), 'utf8')).toBe(`LLM_API_KEY=\${secret:llm-api-key-2}\n`);
  });

  it('changes no file when the store cannot be opened', async () => {
    writeFileSync(join(temporary.path, '.env'), 'NATS_TOKEN=sesame-nats\n');
    const found = findPlainSecrets(places());
    const closed = secretStoreOf({ ...env, TRUNKLINE_SECRETS_KEY: 'another-key-of-at-least-32-letters' });
    await expect(importSecrets(found, { ...places(), store: closed })).rejects.toThrow(
      'TRUNKLINE_SECRETS_KEY',
    );
    expect(readFileSync(join(temporary.path, '.env'), 'utf8')).toBe('NATS_TOKEN=sesame-nats\n');
    expect(existsSync(join(home, 'secrets.db'))).toBe(true);
  });
});
