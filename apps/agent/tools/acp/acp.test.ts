import { readdirSync, readFileSync, realpathSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { createSandbox, findIsolation } from '@trunkline/sandbox';
import { temporaryDirectory, waitFor } from '@trunkline/testing';
import { answerApproval, approvalText, createDelegateTo } from '@trunkline/tools';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { callTool } from '../call-tool.suite.ts';
import { createAcpDelegate } from '../delegation-tools.ts';
import { createCodeWith } from './coding-tools.ts';
import { type CodingAgent, mayDo } from './run-agent.ts';

const fixture = fileURLToPath(new URL('./fixtures/agent.ts', import.meta.url));
/** Where the machine has none, agents run without. */
const sandbox = createSandbox({ mode: (await findIsolation()).kind === 'none' ? 'off' : 'auto' });
let home = temporaryDirectory();
const coder = (more: Partial<CodingAgent> = {}): CodingAgent => ({
  name: 'coder',
  command: process.execPath,
  args: [fixture],
  directory: realpathSync(home.path),
  env: {},
  sandbox,
  timeoutMs: 60_000,
  permissions: 'readonly',
  allow_kinds: [],
  deny_kinds: [],
  confirm: false,
  ...more,
});
const codeWith = (task: string, more: Partial<CodingAgent> = {}, signal?: AbortSignal) =>
  callTool(createCodeWith([coder(more)]).tool!, { agent: 'coder', task }, 's', signal);

beforeEach(() => {
  home = temporaryDirectory();
});
afterEach(() => home.remove());

describe('code_with', () => {
  it('drives an agent process over ACP in its directory [A094]', async () => {
    expect(await codeWith('tidy up')).toBe(`working in ${realpathSync(home.path)}, did tidy up`);
  });

  // opencode reserves about 5 GB, of which it uses 300 MB.
  it('lets the agent reserve far more memory than it uses', async () => {
    expect(await codeWith('reserve:3800')).toContain('did reserve:3800');
  });

  it.each([
    ['edit', { permissions: 'readonly' } as const, 'answer: no\n[not permitted: edit a file]'],
    ['read', { permissions: 'readonly' } as const, 'answer: yes'],
    ['edit', { permissions: 'auto' } as const, 'answer: yes'],
    [
      'edit',
      { permissions: 'auto', deny_kinds: ['edit'] } as const,
      'answer: no\n[not permitted: edit a file]',
    ],
    ['edit', { permissions: 'allowlist', allow_kinds: ['edit'] } as const, 'answer: yes'],
    [
      'read',
      { permissions: 'allowlist', allow_kinds: ['edit'] } as const,
      'answer: no\n[not permitted: read a file]',
    ],
  ])('answers a request to %s by the policy %j [A094]', async (kind, policy, text) => {
    expect(await codeWith(`ask:${kind}`, policy)).toBe(text);
  });

  it('says that the agent died, and with what words', async () => {
    expect(await codeWith('die')).toBe(
      'Error: coder stopped before it was done: it ended with exit code 7: out of memory',
    );
  });

  it('says that the agent cannot be started, or refused', async () => {
    expect(await codeWith('x', { command: '/no/such/agent' })).toMatch(
      /^Error: coder stopped before it was done: it cannot be started/,
    );
    expect(await codeWith('refuse')).toMatch(/^Error: coder refused the task/);
    expect(await codeWith('x', { args: ['-e', 'console.log("not json")'] })).toMatch(/^Error: coder /);
  });

  it('stops an agent that hangs, with all that it started', async () => {
    expect(await codeWith('hang', { timeoutMs: 2000 })).toBe(
      'Error: coder took longer than 2 seconds and was stopped.',
    );
    // Process ids in a sandbox are not those out here: the length of the sleep tells the child from other processes.
    const seconds = `300.${process.pid}`;
    const stop = new AbortController();
    const call = codeWith(`leave-child:${seconds}`, {}, stop.signal);
    await waitFor(() => isSleeping(seconds));
    stop.abort(new Error('enough'));
    await expect(call).rejects.toThrow('enough');
    await waitFor(() => !isSleeping(seconds));
  });

  it('asks a person first when an agent is to be confirmed', async () => {
    const { approved, tool } = createCodeWith([coder({ confirm: true })]);
    expect(tool).toBeUndefined();
    const input = { agent: 'coder', task: 'tidy up' };
    expect(approved!.tool.pause).toBe(true);
    const subject = (await approved!.subject(input))!;
    expect(approvalText(subject)).toContain('tidy up');
    const call = { subject, signal: new AbortController().signal, sessionId: 's', toolCallId: 'c' };
    expect(await answerApproval(approved!, input, 'yes', call)).toContain('did tidy up');
    expect(await answerApproval(approved!, input, 'no', call)).toMatch(/^Error: /);
  });

  it('takes an unknown kind for something that changes things', () => {
    const rules = { permissions: 'readonly', allow_kinds: [], deny_kinds: [] } as const;
    expect(
      ['read', 'search', 'think', 'edit', 'execute', 'fetch', 'other'].filter((kind) => mayDo(kind, rules)),
    ).toEqual(['read', 'search', 'think']);
  });
});

it('is a delegate too [A093]', async () => {
  const delegates = [createAcpDelegate(coder(), 'writes code')];
  const tool = createDelegateTo({ delegates });
  expect(await callTool(tool, { target: 'coder', query: 'tidy up' })).toContain('did tidy up');
  expect(await callTool(tool, { target: 'coder', query: 'die' })).toMatch(
    /^Error: coder stopped before it was done/,
  );
});

function isSleeping(seconds: string): boolean {
  return readdirSync('/proc').some((pid) => {
    try {
      return /^\d+$/.test(pid) && readFileSync(`/proc/${pid}/cmdline`, 'utf8') === `sleep\0${seconds}\0`;
    } catch {
      // It has ended meanwhile.
      return false;
    }
  });
}
