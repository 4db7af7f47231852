import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { findIsolation } from '@trunkline/sandbox';
import { type Child, freePort, startChild, startModelServer, temporaryHome } from '@trunkline/testing';
import { afterEach, describe, expect, it } from 'vitest';

const launcher = join(import.meta.dirname, '../../../bin/trunkline.js');
/** Where the machine has none, commands run without. */
const sandbox = (await findIsolation()).kind === 'none' ? { TRUNKLINE_SANDBOX: 'off' } : {};
const cleanups: (() => unknown)[] = [];

afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
});

function inNewHome() {
  const home = temporaryHome();
  cleanups.push(home.remove);
  const run = (args: string[], environment: Record<string, string> = {}): Child => {
    const child = startChild(launcher, {
      arguments: args,
      directory: home.path,
      environment: {
        ...home.environment,
        ...sandbox,
        TRUNKLINE_OPEN: '0',
        A2A_AUTH_TOKEN: '',
        ...environment,
      },
    });
    cleanups.push(() => child.kill());
    return child;
  };
  const say = async (args: string[]) => {
    const child = run(args);
    const { code } = await child.exited;
    return { code, output: child.output() };
  };
  return { home: home.environment.TRUNKLINE_HOME ?? '', run, say };
}

describe('trunkline approvals', () => {
  it('shows what waits, and approves or denies it with the key of its home alone', async () => {
    const { home, run, say } = inNewHome();
    const model = await startModelServer();
    cleanups.push(() => model.stop());
    mkdirSync(join(home, 'agent', 'config'), { recursive: true });
    writeFileSync(join(home, 'agent', 'config', 'agent.yaml'), 'filesystem: { run_command: true }');
    const settings = { LLM_GATEWAY_URL: model.url, LLM_API_KEY: 'k', LLM_MODEL: 'm' };
    const agent = run(['agent', '--port', '0', '--ui', 'none'], settings);
    const url = (await agent.waitForLine(/^http:\/\/127\.0\.0\.1:\d+/, 60_000)).trim();
    const command = 'echo one\n\n\n\u001b[2Jecho two';
    const verdicts = ['approve', 'deny'];
    for (const session_id of verdicts) {
      model.enqueue({ toolCalls: [{ name: 'run_command', arguments: { command } }] });
      const body = JSON.stringify({ message: 'Go.', session_id });
      const headers = { 'content-type': 'application/json' };
      expect((await fetch(`${url}/api/chat`, { method: 'POST', headers, body })).status).toBe(200);
    }
    const listed = await say(['approvals', '--url', url]);
    expect(listed.output).toContain('4 │ ‹ESC›[2Jecho two');
    expect(listed.output).toContain('lines 2 to 3 are blank');
    const ids = [...listed.output.matchAll(/^[0-9a-f-]{36}/gm)].map(([id]) => id);
    expect(ids).toHaveLength(2);
    const strangers = await Promise.all(
      verdicts.map((verdict, index) =>
        inNewHome().say(['approvals', verdict, ids[index] ?? '', '--url', url]),
      ),
    );
    for (const { code, output } of strangers)
      expect([code, output]).toEqual([1, expect.stringContaining('Only the operator')]);
    const answers: string[] = [];
    for (const [index, verdict] of verdicts.entries()) {
      model.enqueue('Done.');
      const answered = await say([
        ...['approvals', verdict, ids[index]?.slice(0, 8) ?? ''],
        ...['too', 'loud', '--url', url],
      ]);
      expect(answered.code).toBe(0);
      await expect.poll(() => model.chats().length).toBe(index + 3);
      answers.push(String(model.chats().at(-1)?.messages.at(-1)?.content));
    }
    expect(answers).toEqual([
      expect.stringContaining('one\n'),
      'Error: the person did not approve it and said: no: too loud',
    ]);
    // By the home alone, at whatever port the agent runs.
    const [none, gone] = await Promise.all([
      say(['approvals']),
      say(['approvals', 'approve', 'none', '--url', url]),
    ]);
    expect(none).toMatchObject({ code: 0, output: expect.stringContaining('Nothing waits') });
    expect([gone.code, gone.output]).toEqual([1, expect.stringContaining('Nothing waits under none')]);
    // Each of the eight commands is a cold start.
  });

  it('says what to do when no agent answers, and how it is used', async () => {
    const { say } = inNewHome();
    const nobody = await say(['approvals', '--url', `http://127.0.0.1:${await freePort()}`]);
    expect([nobody.code, nobody.output]).toEqual([1, expect.stringContaining('AGENT_URL')]);
    expect(await say(['approvals', 'approve'])).toMatchObject({ code: 2 });
  });
});
