import { execFileSync } from 'node:child_process';
import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { temporaryDirectory } from '@trunkline/testing';
import { afterAll, expect, it, onTestFinished } from 'vitest';
import { distancesOf, select, selectChanged } from './changed.ts';
import { ImportGraph } from './import-graph.ts';

const SOURCES = {
  'packages/loop/package.json': '{ "exports": { ".": "./index.ts" } }',
  'packages/loop/index.ts':
    "export { type Step, turn as runTurn } from './turn.ts';\nexport * from './usage.ts';\n",
  'packages/loop/turn.ts': "import type { Usage } from './usage.ts';\nexport async function turn() {}\n",
  'packages/loop/usage.ts': 'export const usage = 1;\n',
  'packages/loop/turn.test.ts': "import { turn } from './turn.ts';\n",
  'packages/loop/traced.isolated.test.ts': "import { runTurn } from './index.ts';\n",
  'packages/loop/usage.test.ts': "import { usage } from './usage.ts';\n",
  'apps/agent/agent.ts': "import {\n  runTurn,\n} from '@trunkline/loop';\nexport const agent = runTurn;\n",
  'apps/agent/agent.test.ts': "import { agent } from './agent.ts';\n",
  'apps/agent/costs.test.ts': "import { type Step, usage } from '@trunkline/loop';\n",
  'apps/agent/kill.isolated.test.ts': "startChild(new URL('./agent.ts', import.meta.url));\n",
  'apps/agent/later.test.ts': "await import('./agent.ts');\n",
  'apps/agent/console/pages/Chat.tsx': '',
  'apps/agent/browser/chat.browser.test.ts': '',
  'apps/trunkline/commands/doctor.ts': '',
  'apps/trunkline/commands/doctor.isolated.test.ts': '',
  'apps/voice/client/page.browser.test.ts': '',
  'apps/voice/cases/barge-in.yaml': '',
  'apps/voice/cases/cases.test.ts': '',
  'apps/voice/cases/local.isolated.test.ts': '',
  'packages/testing/wires.ts': "export const folder = join(import.meta.dirname, 'wires');\n",
  'packages/testing/wires/vllm/plain.yaml': '',
  'packages/testing/access.ts': "export const table = join(import.meta.dirname, '../../security');\n",
  'packages/llm/wires.test.ts': "import { folder } from '../testing/wires.ts';\n",
  'packages/llm/access.test.ts': "import { table } from '../testing/access.ts';\n",
  'security/routes.yaml': '',
};
const files = Object.keys(SOURCES);
const root = temporaryDirectory();
afterAll(() => root.remove());
for (const [file, text] of Object.entries(SOURCES)) {
  mkdirSync(dirname(join(root.path, file)), { recursive: true });
  writeFileSync(join(root.path, file), text);
}
const graph = new ImportGraph(root.path, files);
const selected = (changed: string[], limitS = 100) =>
  select(
    changed,
    files,
    distancesOf(changed, graph, files),
    (file) => (file.includes('later') ? 5 : 1),
    limitS,
  );

it('runs plain tests near and far, slow ones near, and names those left out', () => {
  expect(selected(['packages/loop/turn.ts'])).toEqual({
    chosen: [
      'packages/loop/turn.test.ts',
      'packages/loop/traced.isolated.test.ts',
      'apps/agent/agent.test.ts',
      'apps/agent/later.test.ts',
    ],
    leftOut: ['apps/agent/kill.isolated.test.ts'],
  });
});

it('follows the names that a file takes of a package, and those alone', () => {
  expect(Object.fromEntries(graph.distances(['packages/loop/usage.ts']))).toEqual({
    'packages/loop/usage.ts': 0,
    'packages/loop/usage.test.ts': 1,
    'packages/loop/index.ts': 1,
    'apps/agent/costs.test.ts': 1,
  });
  expect(graph.distances(['packages/loop/index.ts']).get('apps/agent/agent.ts')).toBe(1);
});

it('leaves out the furthest where there is no time for all, and never those beside the change', () => {
  expect(selected(['packages/loop/turn.ts'], 4)).toEqual({
    chosen: [
      'packages/loop/turn.test.ts',
      'packages/loop/traced.isolated.test.ts',
      'apps/agent/agent.test.ts',
    ],
    leftOut: ['apps/agent/kill.isolated.test.ts', 'apps/agent/later.test.ts'],
  });
  expect(selected(['packages/loop/turn.ts'], 0).chosen).toHaveLength(2);
});

it('runs a test that has changed itself, also a slow one', () => {
  expect(selected(['apps/agent/kill.isolated.test.ts'])).toEqual({
    chosen: ['apps/agent/kill.isolated.test.ts'],
    leftOut: [],
  });
});

it('runs the browser tests of an app whose page has changed', () => {
  expect(selected(['apps/agent/console/pages/Chat.tsx']).chosen).toEqual([
    'apps/agent/browser/chat.browser.test.ts',
  ]);
});

it('runs the slow test that bears the name of a changed file, which it starts as a process', () => {
  expect(selected(['apps/trunkline/commands/doctor.ts']).chosen).toEqual([
    'apps/trunkline/commands/doctor.isolated.test.ts',
  ]);
});

it('runs the tests beside a file that is read while they run, and those that use what reads it', () => {
  expect(selected(['apps/voice/cases/barge-in.yaml'])).toEqual({
    chosen: ['apps/voice/cases/cases.test.ts'],
    leftOut: ['apps/voice/cases/local.isolated.test.ts'],
  });
  expect(selected(['packages/testing/wires/vllm/plain.yaml']).chosen).toEqual(['packages/llm/wires.test.ts']);
  expect(selected(['security/routes.yaml']).chosen).toEqual(['packages/llm/access.test.ts']);
});

it('runs what git has under any name, and nothing that is deleted', () => {
  const tree = temporaryDirectory();
  onTestFinished(() => tree.remove());
  const git = (...args: string[]) =>
    execFileSync('git', ['-c', 'user.name=a', '-c', 'user.email=a@example.com', ...args], { cwd: tree.path });
  git('init', '-q', '-b', 'main');
  const tests = ['gone.test.ts', 'größe.test.ts', 'same.test.ts'];
  for (const name of tests) writeFileSync(join(tree.path, name), 'export {};\n');
  git('add', '.');
  git('commit', '-q', '-m', 'Begin');
  rmSync(join(tree.path, 'gone.test.ts'));
  for (const name of ['größe.test.ts', 'é.test.ts']) writeFileSync(join(tree.path, name), '\n');
  expect(selectChanged(tree.path)).toEqual({ chosen: ['größe.test.ts', 'é.test.ts'], leftOut: [] });
});
