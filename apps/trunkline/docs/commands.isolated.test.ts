import { execFile } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { type Child, startChild, temporaryDirectory, temporaryHome } from '@trunkline/testing';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { optionTables } from '../options.ts';
import { plainBlocks, root, runnable, shellBlocks } from './blocks.suite.ts';

const run = promisify(execFile);
const home = temporaryHome();
const directory = temporaryDirectory();
const urls: Record<string, string> = {};
let child: Child;
/** The pages may have to be built first. */
const LIMIT_MS = 300_000;

/** What needs a part that is not here, and which test proves it instead. */
const elsewhere: readonly [pattern: RegExp, why: string][] = [
  [/api\/vectors/, 'needs a vector store: apps/switchboard/vectors'],
  [/"requestId":"\.\.\."/, 'needs a question that waits: apps/switchboard/human'],
  [/voice\/clone|voice\/references|:8093/, 'needs a speech sidecar: apps/voice/speech'],
  [/X-API-Key: KEY|Bearer KEY/, 'needs a roster: apps/voice/users'],
  [/"slug":"chef"/, 'needs that skill: apps/voice/skills'],
  [/"model": "research-deep"|research\/deep/, 'takes minutes without a model: apps/research'],
  [/export\?format/, 'needs a finished report: apps/research/exports'],
  [/api\/routes\/bell/, 'a change is read a moment after it is written: apps/switchboard/control'],
  [/real-services\.sh/, 'needs the internet: apps/research/sources'],
  [/trunkline login/, 'needs the usual ports: apps/trunkline/commands'],
  [/api\/approvals/, 'needs something that waits: apps/agent/approvals'],
  [/secret set/, 'asks in the terminal: apps/trunkline/secrets'],
  [/trunkline init/, 'asks in the terminal: apps/trunkline/init'],
  [/users pair/, 'needs the code of a stranger: apps/trunkline/commands/users.test.ts'],
  [/api\/cluster/, 'needs NATS: apps/switchboard/cluster'],
  [/method": "message\/stream/, 'takes minutes without a model: apps/research'],
];

beforeAll(async () => {
  const ports = { VOICE_PORT: '0', AGENT_PORT: '0', RESEARCH_PORT: '0', SWITCHBOARD_PORT: '0' };
  // With the operator's key, as readers have it: a command that needs it must show it.
  const environment = { ...home.environment, TRUNKLINE_OPEN: '0', ...ports, LLM_GATEWAY_URL: '' };
  child = startChild(join(root, 'bin/trunkline.js'), { arguments: ['up'], environment });
  await child.waitForLine('Ctrl-C stops everything', LIMIT_MS);
  for (const [, name = '', url = ''] of child.output().matchAll(/^ {2}(\w+) +(http:\S+)/gm)) urls[name] = url;
  for (const name of ['notes.md', 'page.html'])
    writeFileSync(
      join(directory.path, name),
      '<p>Tides turn twice a day, and what they move can be used.</p>\n',
    );
});
afterAll(async () => {
  await child.kill('SIGTERM');
  home.remove();
  directory.remove();
});

/** The ports of this run in place of the usual ones; a refusal fails the command, and an endless stream is cut. */
function adapt(text: string): string {
  const ports = { 7866: urls.voice, 7870: urls.agent, 3399: urls.research, 3000: urls.switchboard };
  const placed = Object.entries(ports).reduce(
    (script, [port, url]) =>
      script.replaceAll(new RegExp(`(?:http://)?(?:127\\.0\\.0\\.1|localhost):${port}\\b`, 'g'), url ?? ''),
    text,
  );
  return [
    'set -e',
    'exec < /dev/null',
    'curl() {',
    '  case "$*" in *api/events*|*bus/stream*) command curl --max-time 1 --fail-with-body "$@" || [ $? = 28 ];;',
    // A flow begins a moment after its message was taken.
    '  *api/flows/skill-*) command curl --retry 20 --retry-delay 1 --retry-all-errors --fail-with-body "$@";;',
    '  *) command curl --max-time 60 --fail-with-body "$@";; esac',
    '}',
    placed.replaceAll('npx trunkline', `node ${join(root, 'bin/trunkline.js')}`),
  ].join('\n');
}

describe('commands of the guides', () => {
  const blocks = shellBlocks();

  it.each(blocks.map((block) => [block.place, block] as const))('%s', async (_place, block) => {
    const text = runnable(block);
    if (text === '' || elsewhere.some(([pattern]) => pattern.test(text))) return;
    const env = { ...process.env, ...home.environment, SWITCHBOARD_URL: urls.switchboard };
    const { stdout } = await run('bash', ['-c', adapt(text)], {
      cwd: directory.path,
      env,
      timeout: LIMIT_MS,
    });
    expect(stdout).not.toMatch(/"(?:error|detail)":\s*"[^"]*(?:not found|unknown)/i);
  });

  it('are marked as such, so that they are run here', () => {
    const command = /^(?:\w+=\S+ )*(?:curl|npm|npx|node|git|docker) /m;
    expect(plainBlocks().flatMap(({ place, text }) => (command.test(text) ? [place] : []))).toEqual([]);
  });

  it('name only scripts that there are', () => {
    const { scripts } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));
    const named = blocks.flatMap(({ text }) =>
      [...text.matchAll(/npm (?:run )?([a-z][\w:-]*)/g)].map(([, name = '']) => name),
    );
    const own = new Set([...Object.keys(scripts), 'ci', 'install']);
    expect(named.filter((name) => !own.has(name))).toEqual([]);
    expect(named.length).toBeGreaterThan(5);
  });

  it('set only variables that there are', () => {
    const known = new Set(
      optionTables.flatMap(({ options }) => Object.values(options).flatMap(({ env }) => env)),
    );
    const set = blocks.flatMap(({ text }) =>
      [...text.matchAll(/(?:^|\s)([A-Z][A-Z0-9_]{2,})=/gm)].map(([, name = '']) => name),
    );
    expect(set.filter((name) => !known.has(name))).toEqual([]);
  });
});
