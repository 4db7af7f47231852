import { mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { temporaryDirectory } from '@trunkline/testing';
import { expect, it, onTestFinished } from 'vitest';
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
