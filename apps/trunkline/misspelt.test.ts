import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { settingNotes } from './misspelt.ts';

const env = { LLM_MODLE: 'a', TRUNKLINE_HOM: 'b', TRUNKLINE_ODD: 'c', NODE_PATH: 'd', PEER_ADA_URL: 'e' };

it('names what is close to a setting or has our prefix, and nothing else', () => {
  expect(settingNotes(env)).toEqual([
    'LLM_MODLE is not a setting; did you mean LLM_MODEL?',
    'TRUNKLINE_HOM is not a setting; did you mean TRUNKLINE_HOME?',
    expect.stringMatching(/^TRUNKLINE_ODD is not a setting/),
  ]);
});

it('needs no list of settings: an installation may lack it', () => {
  expect(settingNotes(env, '/nowhere/.env.example')).toEqual([]);
  expect(settingNotes({ LLM_MODEL: 'a' }, '/nowhere/.env.example')).toHaveLength(1);
});

it('finds the list in the container', () => {
  const dockerfile = readFileSync(join(import.meta.dirname, '../../Dockerfile'), 'utf8');
  expect(dockerfile).toMatch(/^COPY .*\.env\.example/m);
});
