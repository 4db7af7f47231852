import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { temporaryDirectory } from '@trunkline/testing';
import { afterEach, expect, it, onTestFinished, vi } from 'vitest';
import { main } from './policy.ts';

afterEach(() => void vi.restoreAllMocks());

it('explains what would happen to a call and why, and says when the file is broken', async () => {
  const home = temporaryDirectory();
  onTestFinished(home.remove);
  const write = (text: string) => writeFileSync(join(home.path, 'policy.yaml'), text);
  /** The exit code and what was printed. */
  const run = async (...argv: string[]): Promise<[number, string]> => {
    const lines: string[] = [];
    const print = (line: string) => void lines.push(line);
    vi.spyOn(console, 'log').mockImplementation(print);
    vi.spyOn(console, 'error').mockImplementation(print);
    return [await main(argv, { TRUNKLINE_HOME: home.path }), lines.join('\n')];
  };
  const call = ['test', '--tool', 'write_file', '--args', '{"path":"notes.md","content":"x"}'];
  expect(await run(...call, '--principal', 'member')).toEqual([
    0,
    expect.stringMatching(/^allow: write_file \(/),
  ]);
  const tainted = [...call, '--taint', 'fetch_url https://example.com'];
  expect(await run(...tainted)).toEqual([0, expect.stringMatching(/^ask: [\s\S]*A person with the right/)]);
  expect(await run(...call, '--principal', 'guest')).toEqual([0, expect.stringMatching(/^deny: /)]);
  write('rules:\n  - tool: write_file\n    arguments: { path: notes.md }\n    decision: deny\n');
  expect(await run(...call)).toEqual([0, expect.stringMatching(/^deny: [\s\S]*decided by rules\[0\]/)]);
  expect(await run('show')).toEqual([0, expect.stringContaining('notes.md')]);
  write('rules: 7\n');
  expect(await run(...call)).toEqual([1, expect.stringContaining('policy.yaml')]);
  expect(await run('descriptions', 'accept', 'files')).toEqual([2, expect.stringContaining('NAME HASH')]);
  await expect(run('test', '--tool', 'x', '--args', '[')).rejects.toThrow('--args is no JSON object');
});
