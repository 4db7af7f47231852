import { execFile } from 'node:child_process';
import { chmodSync, existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { temporaryDirectory } from '@trunkline/testing';
import { expect, it, onTestFinished } from 'vitest';
import { checkWeights, installCommand } from '../../../weights.ts';
import { espeakWeights } from './espeak.ts';
import { readAloud } from './phonemes.ts';

const isReady = (await checkWeights(espeakWeights)) === 'ready';
const repository = join(import.meta.dirname, '../../../../../..');
/** Somebody has installed it here, and no test can take it away. */
const isInstalled = existsSync(join(repository, 'node_modules', espeakWeights.package));
/** Names what else is installed here, such as Whisper. */
const command = installCommand(espeakWeights, (name) => existsSync(join(repository, 'node_modules', name)));
const advice = `Run "${command}" in the folder of the service.`;

/** Where it is needed, and where it is not. */
const diagnoses = 'return [await diagnoseEspeak(true), await diagnoseEspeak(false)]';

/** Runs a script in a process of its own, which finds only what these variables lead to; gives what it returns. */
async function runIn(env: Record<string, string>, script: string): Promise<unknown> {
  const moduleUrl = (name: string) => JSON.stringify(new URL(name, import.meta.url).href);
  const whole = `
    const { readAloud } = await import(${moduleUrl('./phonemes.ts')});
    const { diagnoseEspeak } = await import(${moduleUrl('./espeak.ts')});
    const tried = (work) => work.catch(({ code, message }) => ({ code, message }));
    const result = await (async () => { ${script} })();
    process.stdout.write(JSON.stringify(result));`;
  const node = promisify(execFile)(process.execPath, ['--input-type=module', '-e', whole], {
    env,
    timeout: 230_000,
  });
  return JSON.parse((await node).stdout);
}

/** Language and text. */
type Said = readonly [string, string];

function readIn(env: Record<string, string>, texts: readonly Said[]) {
  const reading = 'await tried(readAloud(text, language))';
  return runIn(
    env,
    `const said = [];
    for (const [language, text] of ${JSON.stringify(texts)}) said.push(${reading});
    return said;`,
  ) as Promise<Record<string, string>[]>;
}

/** A folder with a program espeak-ng that does this with its arguments, and that when it is asked for its version. */
function installProgram(script: string, version = 'exit 0'): string {
  const { path, remove } = temporaryDirectory();
  onTestFinished(remove);
  writeFileSync(join(path, 'espeak-ng'), `#!/bin/sh\n[ "$1" = --version ] && { ${version}; }\n${script}\n`);
  chmodSync(join(path, 'espeak-ng'), 0o755);
  return path;
}

it.skipIf(isInstalled)(
  'without eSpeak NG Spanish is read as English, with a word about what to install',
  async () => {
    const [spanish, hindi] = await readIn({ PATH: '', NODE_PATH: '' }, [
      ['e', 'Hola'],
      ['h', 'नमस्ते'],
    ]);
    const remedy = `run "${command}", or install the program espeak-ng.`;
    expect(spanish?.notice).toBe(`The local voice cannot read Spanish and reads it as English: ${remedy}`);
    expect(hindi).toEqual({ code: 'unsupported', message: `The local voice cannot read Hindi: ${remedy}` });
    const reported = await runIn({ PATH: '', NODE_PATH: '' }, diagnoses);
    expect(reported).toMatchObject([[{ state: 'warning', advice }], []]);
  },
);

it.skipIf(isInstalled)('a program that does not run counts as absent, and doctor says why', async () => {
  const env = { PATH: installProgram('echo hola', 'echo no data >&2; exit 3'), NODE_PATH: '' };
  const words = expect.stringMatching(/espeak-ng does not run: .*no data/);
  expect(await runIn(env, diagnoses)).toMatchObject([[{ state: 'warning', words, advice }], []]);
  const [spanish] = await readIn(env, [['e', 'Hola']]);
  expect(spanish?.notice).toContain('reads it as English');
});

it.skipIf(isInstalled)('a damaged package is a failure only where nothing else reads', async () => {
  const { path: NODE_PATH, remove } = temporaryDirectory();
  onTestFinished(remove);
  for (const file of ['package.json', ...espeakWeights.files]) {
    const path = join(NODE_PATH, espeakWeights.package, file);
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(path, '{}');
  }
  const words = `damaged: ${espeakWeights.name}.`;
  expect(await runIn({ PATH: '', NODE_PATH }, diagnoses)).toMatchObject([
    [{ state: 'failed', words }],
    [{ state: 'warning', words }],
  ]);
  const reported = [{ state: 'warning', words }, { state: 'ok' }];
  expect(await runIn({ PATH: installProgram('echo hola'), NODE_PATH }, diagnoses)).toMatchObject([
    reported,
    reported,
  ]);
});

it.skipIf(isInstalled)('a program that is removed is no longer counted on', async () => {
  const PATH = installProgram('echo hola');
  const said = await runIn(
    { PATH, NODE_PATH: '' },
    `const { rmSync } = await import('node:fs');
      const first = await readAloud('Hola', 'e');
      rmSync(${JSON.stringify(join(PATH, 'espeak-ng'))});
      return [first, await tried(readAloud('Hola', 'e')), await tried(readAloud('Hola', 'e'))];`,
  );
  const notice = expect.stringContaining('reads it as English');
  expect(said).toMatchObject([{ phonemes: 'hola' }, { code: 'ENOENT' }, { notice }]);
});

it.skipIf(isInstalled)(
  'the program reads where the package is absent, and names of languages are left out',
  async () => {
    // As it reads "un email".
    const PATH = installProgram('[ "$4" = es ] && echo " ˈun (en)ˈiːmeɪl(es)"');
    expect(await runIn({ PATH, NODE_PATH: '' }, 'return diagnoseEspeak(true)')).toMatchObject([
      { state: 'ok' },
    ]);
    expect(await readIn({ PATH, NODE_PATH: '' }, [['e', 'un email.']])).toEqual([
      { phonemes: 'ˈun ˈiːmAl.' },
    ]);
  },
);

it.runIf(isReady)('the package reads five languages as the program does, and goes before it', async () => {
  const PATH = installProgram('echo program');
  const said = await readIn({ PATH, NODE_PATH: process.env.NODE_PATH ?? '' }, [
    ['e', 'Buenos días, son 21 euros.'],
    ['f', 'Bonjour, un ami du parking a 2 enfants.'],
    ['h', 'नमस्ते, मेरा email क्या है?'],
    ['i', 'Buongiorno, che ora è?'],
    ['p', 'Bom dia, obrigado!'],
    ['e', 'Buenos días.'],
  ]);
  // As espeak-ng 1.51 of Debian reads them.
  expect(said.map(({ phonemes }) => phonemes)).toEqual([
    'bwˈenos ðˈias, sˈon bˌAntiˈuno ˈeʊɾos.',
    'bɔ̃ʒˈuʁ, œ̃n amˈi dy- pˈɑːkɪŋ a dˈøz ɑ̃fˈɑ̃.',
    'nəmˈʌsteː, mˌeːɾaː ˈiːmAl kːjaː hɛː?',
    'bʊonʤˈɔrno, ke ˈora ˈɛː?',
    'bˈoŋ ʤˈiæ, ˌobriɡˈadʊ!',
    'bwˈenos ðˈias.',
  ]);
});

it.skipIf(isInstalled)('a program that hangs is ended when the speech is no longer wanted', async () => {
  const PATH = installProgram('echo > "$0.started"; exec /bin/sleep 600');
  const said = await runIn(
    { PATH, NODE_PATH: '' },
    `const { existsSync } = await import('node:fs');
      const { setTimeout: delay } = await import('node:timers/promises');
      const controller = new AbortController();
      const read = tried(readAloud('Hola', 'e', controller.signal));
      while (!existsSync(${JSON.stringify(join(PATH, 'espeak-ng.started'))})) await delay(5);
      controller.abort();
      return read;`,
  );
  expect(said).toMatchObject({ code: 'ABORT_ERR' });
});

it('no clause is read once the speech is no longer wanted', async () => {
  const reason = new Error('barge-in');
  const read = readAloud('Ask for water, I go home.', 'a', AbortSignal.abort(reason));
  await expect(read).rejects.toBe(reason);
});
