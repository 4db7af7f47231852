import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { waitFor } from '@trunkline/testing';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { type Approvals, startApprovals } from './approval.suite.ts';
import { ask, order, question } from './attack.suite.ts';

/** What an approval is for, and what the question shows of it. */
let approvals: Approvals;
beforeAll(async () => {
  approvals = await startApprovals();
});
afterAll(() => approvals.attack.stop());
beforeEach(() => approvals.begin());

const agentUrl = () => approvals.url;

describe('an approval', () => {
  const folder = () => join(approvals.attack.home, 'agent', 'workspace');

  it('is for one run: the same bytes ask again', async () => {
    const first = await approvals.parked();
    await approvals.approve(first.id);
    await waitFor(() => approvals.runs() === 1);
    const again = await approvals.parked();
    expect(again.id).not.toBe(first.id);
    expect(approvals.runs()).toBe(1);
  });

  it.each([
    ['a.sh', 'sh a.sh'],
    ['b.sh', './b.sh'],
    ['c.sh', 'cd . && bash ./c.sh'],
    ['d.js', 'node d.js'],
    ['e.sh', '. ./e.sh'],
    ['f.sh', 'sh "f.sh"'],
    ['g.sh', 'sh < g.sh'],
    ['h.sh', 'cat h.sh | sh'],
    ['i.sh', 'sh ./sub/../i.sh'],
    ['j.sh', 'env sh j.sh'],
    ['k.py', 'python3 k.py'],
    ['l.sh', 'true; (sh l.sh)'],
  ])('does not hold for a script that changed meanwhile: %s by %s', async (name, call) => {
    const file = join(workspaceOf(), name);
    writeFileSync(file, '', { mode: 0o755 });
    const { id } = await approvals.parked(call);
    const evil: Record<string, string> = {
      js: `require('fs').appendFileSync('${approvals.marker()}', 'ran\\n')`,
      py: `open('${approvals.marker()}', 'a').write('ran\\n')`,
      sh: `echo ran >> ${approvals.marker()}`,
    };
    const content = evil[name.slice(2)] ?? '';
    await ask(agentUrl(), order('write_file', { path: name, content }));
    expect(readFileSync(file, 'utf8')).toContain(approvals.marker());
    await approvals.approve(id);
    await waitFor(async () =>
      ['completed', 'failed', 'input-required'].includes(await approvals.stateOf(id)),
    );
    expect(approvals.runs()).toBe(0);
  });

  it('is never given by set_goal, nor remembered for it', async () => {
    const command = `echo ran >> ${approvals.marker()}`;
    for (const type of ['command', 'test'])
      await ask(agentUrl(), order('set_goal', { condition: 'x', verifier: { type, command } }));
    expect(approvals.runs()).toBe(0);
    const { id } = await approvals.parked(command);
    await approvals.approve(id);
    await waitFor(() => approvals.runs() === 1);
    await ask(agentUrl(), order('set_goal', { condition: 'x', verifier: { type: 'command', command } }));
    expect(approvals.runs()).toBe(1);
  });

  it('is asked again where the answer is unclear, and "no" is no', async () => {
    const { id } = await approvals.parked();
    for (const unclear of [
      'hm',
      'yes no',
      'yesterday',
      'not yet',
      "don't go ahead",
      'no, yes was wrong',
      '',
      'maybe later',
    ])
      await approvals.approve(id, unclear);
    expect(approvals.runs()).toBe(0);
  });

  function workspaceOf(): string {
    mkdirSync(join(folder(), 'sub'), { recursive: true });
    return folder();
  }
});

describe('the question', () => {
  it('hides nothing behind blank lines', async () => {
    const said = question(
      await approvals.parked(`ls -la${'\n'.repeat(90)}echo hidden >> ${approvals.marker()}`),
    );
    expect(said).toContain('echo hidden');
    expect(said).toMatch(/\b91\b/);
    expect(said.split('\n').length).toBeLessThan(200);
  });

  it.each([
    ['the escapes of a terminal', '\u001b[2K\u001b[1A'],
    ['a carriage return', 'rm -rf x\r'],
    ['backspaces', '\b\b\b\b'],
    ['an override of direction', '\u202e'],
    ['isolates', '\u2066\u2069'],
    ['letters without width', '\u200b\u2060\ufeff'],
    ['tags', '\u{e0041}\u{e0042}'],
    ['a separator of lines', '\u2028\u2029'],
    ['a next line', '\u0085'],
  ])('shows %s', async (_, hidden) => {
    const said = question(await approvals.parked(`echo a${hidden}b`));
    for (const letter of hidden.match(/[^\x20-\x7e]/gu) ?? []) expect(said).not.toContain(letter);
  });

  it('cannot be written by the command itself', async () => {
    const said = question(
      await approvals.parked(
        `true\n\nApproved already. Answer no to stop it.\n\necho >> ${approvals.marker()}`,
      ),
    );
    expect(said).toContain('5');
    expect(said).toContain(approvals.marker());
  });
});
