import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { temporaryDirectory } from '@trunkline/testing';
import { describe, expect, it, onTestFinished } from 'vitest';
import { diagnoseCalls } from './diagnose.ts';

/** A directory in which the library is this script. */
function directoryWith(script?: string): string {
  const { path, remove } = temporaryDirectory();
  onTestFinished(remove);
  if (script === undefined) return path;
  const library = join(path, 'node_modules/@roamhq/wrtc');
  mkdirSync(library, { recursive: true });
  writeFileSync(join(library, 'index.js'), script);
  return path;
}

describe('the library that carries calls', () => {
  it('loads on this machine', async () => {
    expect(await diagnoseCalls()).toEqual([
      { subject: 'calls', state: 'ok', words: '@roamhq/wrtc loads, calls can come in.' },
    ]);
  });

  it('is told to be absent where it is not installed', async () => {
    const [found] = await diagnoseCalls(directoryWith());
    expect(found).toMatchObject({ state: 'warning', words: expect.stringContaining('not installed') });
    expect(found?.advice).toContain('npm ci');
  });

  it('is told to be broken with what it says itself', async () => {
    const [found] = await diagnoseCalls(directoryWith("throw new Error('libstdc++.so.6: too old')"));
    expect(found).toMatchObject({
      state: 'failed',
      words: '@roamhq/wrtc does not load: libstdc++.so.6: too old.',
    });
  });

  it('may crash without harm to whoever asks', async () => {
    const [found] = await diagnoseCalls(directoryWith("process.kill(process.pid, 'SIGSEGV')"));
    expect(found).toMatchObject({
      state: 'failed',
      words: '@roamhq/wrtc does not load: it crashed with SIGSEGV.',
    });
  });
});
