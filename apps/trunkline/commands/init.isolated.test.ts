import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { startChild, startModelServer, temporaryHome } from '@trunkline/testing';
import { expect, it, onTestFinished } from 'vitest';

const launcher = join(import.meta.dirname, '../../../bin/trunkline.js');

it('sets a model by flags, and says what to do where nobody can be asked', async () => {
  const home = temporaryHome();
  onTestFinished(home.remove);
  const server = await startModelServer({ apiKey: 'sesame-file', models: ['only'], script: () => 'Red.' });
  onTestFinished(() => server.stop());
  const keyFile = join(home.path, 'key');
  writeFileSync(keyFile, 'sesame-file\n');
  const init = async (...flags: string[]) => {
    const environment = {
      ...home.environment,
      TRUNKLINE_HOME: home.path,
      LLM_GATEWAY_URL: '',
      LLM_MODEL: 'other',
    };
    const child = startChild(launcher, { arguments: ['init', ...flags], directory: home.path, environment });
    const { code } = await child.exited;
    return { code, output: child.output() };
  };
  const [help, nobody, refused] = await Promise.all([
    init('--help'),
    init(),
    init('--url', server.url, '--model', 'only', '--yes'),
  ]);
  expect(help).toMatchObject({ code: 0, output: expect.stringContaining('--api-key-file PATH') });
  expect(nobody).toMatchObject({ code: 1, output: expect.stringContaining('it needs a terminal') });
  expect(refused.code).toBe(1);
  expect(refused.output).toContain('wants a key');
  expect(refused.output).toContain('Nothing was saved');

  const saved = await init('--url', server.url, '--api-key-file', keyFile, '--yes');
  expect(saved.code, saved.output).toBe(0);
  expect(saved.output).toContain('Saved as the chat model of all four services.');
  expect(saved.output).toContain('LLM_MODEL is set and wins');
  const models = readFileSync(join(home.path, 'models.yaml'), 'utf8');
  expect(models).toContain('model: only');
  expect(models + saved.output).not.toContain('sesame');

  const demo = await init('--demo');
  expect(demo, demo.output).toMatchObject({ code: 0, output: expect.stringContaining('LLM_MODEL') });
  expect(demo.output).toContain('the demo model answers');
  expect(readFileSync(join(home.path, 'models.yaml'), 'utf8')).not.toContain('only');
});
