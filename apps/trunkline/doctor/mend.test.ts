import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { temporaryDirectory } from '@trunkline/testing';
import { expect, it, onTestFinished, vi } from 'vitest';
import { main } from '../commands/doctor.ts';
import { checkAddresses } from './addresses.ts';
import { mend } from './mend.ts';

const noPages = async () => [];

it('mends rights, stale records and names whose meaning is certain, says so, and leaves the rest alone', async () => {
  const temporary = temporaryDirectory();
  onTestFinished(temporary.remove);
  const home = join(temporary.path, 'home');
  expect(await mend(home, noPages)).toEqual([`created ${home}.`]);
  const at = (name: string) => join(home, name);
  mkdirSync(at('running'));
  writeFileSync(at('running/4194305.json'), '{}');
  writeFileSync(at(`running/${process.pid}.json`), '{}');
  writeFileSync(at('operator-key'), 'x', { mode: 0o644 });
  const settings = '# mine\nSEARXNG_ULR: http://a  # here\nLLM_MODLE: x\nLLM_MODEL: y\nQUITE_OTHER: 1\n';
  writeFileSync(at('settings.yaml'), settings, { mode: 0o600 });
  const models = 'rolse:\n  chatt: small\n  judge: { model: chatt }\nmodels:\n  rolse: {}\n';
  writeFileSync(at('models.yaml'), models, { mode: 0o600 });
  expect(await mend(home, noPages)).toEqual([
    `took the rights of group and others from ${at('operator-key')} (mode was 644).`,
    `removed ${at('running/4194305.json')}, the record of a process that is gone.`,
    `renamed SEARXNG_ULR to SEARXNG_URL in ${at('settings.yaml')}.`,
    `renamed rolse to roles in ${at('models.yaml')}.`,
    `renamed chatt to chat in ${at('models.yaml')}.`,
  ]);
  expect(statSync(at('operator-key')).mode & 0o777).toBe(0o600);
  expect(readdirSync(at('running'))).toEqual([`${process.pid}.json`]);
  expect(readFileSync(at('settings.yaml'), 'utf8')).toBe(settings.replace('ULR', 'URL'));
  expect(readFileSync(at('models.yaml'), 'utf8')).toBe(
    'roles:\n  chat: small\n  judge: { model: chatt }\nmodels:\n  rolse: {}\n',
  );
  expect(await mend(home, noPages)).toEqual([]);
});

it('renames neither of two names that mean the same, nor a key, and changes nothing behind a link', async () => {
  const temporary = temporaryDirectory();
  onTestFinished(temporary.remove);
  const at = (name: string) => join(temporary.path, name);
  mkdirSync(at('home'), { mode: 0o700 });
  const settings = 'SEARXNG_ULR: http://a\nSEARXNG_URLS: http://b\nLLM_API_KEYS: x\n';
  writeFileSync(at('home/settings.yaml'), settings, { mode: 0o600 });
  writeFileSync(at('elsewhere'), 'x', { mode: 0o644 });
  symlinkSync(at('elsewhere'), at('home/operator-key'));
  expect(await mend(at('home'), noPages)).toEqual([]);
  expect(readFileSync(at('home/settings.yaml'), 'utf8')).toBe(settings);
  expect(statSync(at('elsewhere')).mode & 0o777).toBe(0o644);
});

it('tells what it could not change, and goes on', async () => {
  const temporary = temporaryDirectory();
  onTestFinished(temporary.remove);
  const at = (name: string) => join(temporary.path, name);
  // A folder in place of the record cannot be removed as a file, whoever runs this.
  mkdirSync(at('running/4194305.json'), { recursive: true });
  writeFileSync(at('settings.yaml'), 'SEARXNG_ULR: http://a\n', { mode: 0o600 });
  const failures: string[] = [];
  expect(await mend(temporary.path, noPages, (failure) => failures.push(failure))).toContain(
    `renamed SEARXNG_ULR to SEARXNG_URL in ${at('settings.yaml')}.`,
  );
  expect(failures).toMatchObject([
    expect.stringContaining(`could not remove ${at('running/4194305.json')}: `),
  ]);
});

it('changes nothing when help is asked for or a flag is wrong', async () => {
  const temporary = temporaryDirectory();
  onTestFinished(temporary.remove);
  const help = vi.spyOn(console, 'log').mockReturnValue();
  onTestFinished(() => help.mockRestore());
  const env = { TRUNKLINE_HOME: join(temporary.path, 'home') };
  expect(await main(['--fix', '-h'], env)).toBe(0);
  await expect(main(['--fix', '--bogus'], env)).rejects.toThrow('--bogus');
  expect(existsSync(env.TRUNKLINE_HOME)).toBe(false);
});

it('shows of an address only where it is, as the rest may be secret', async () => {
  const none = { voice: {}, agent: {}, research: {}, switchboard: {} } as Parameters<
    typeof checkAddresses
  >[0];
  const url = 'http://me:hush@127.0.0.1:1/hooks/T0/B0/hush?key=hush';
  const findings = await checkAddresses(none, { PEER_ADA_URL: url });
  expect(findings).toMatchObject([{ words: expect.stringContaining('Cannot reach http://127.0.0.1:1:') }]);
  expect(JSON.stringify(findings)).not.toContain('hush');
});
