import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import {
  ConfigError,
  choice,
  createLogger,
  defineOptions,
  type Environment,
  file,
  helpText,
  homeOptions,
  modelOptions,
  type OptionsOf,
  readOptions,
  sandboxOptions,
  secretStoreOf,
  text,
  toggle,
  variableText,
} from '@trunkline/config';
import { modelRoles } from '@trunkline/llm';
import { createSandbox } from '@trunkline/sandbox';
import { isServedAt } from '@trunkline/service';
import { Setup } from '@trunkline/setup';
import { errorMessage, type ModelUnderTest } from '@trunkline/std';
import { backToDemo, modelStep, savedOf, testWords } from '../init/model-step.ts';
import { sandboxStep, serviceSteps } from '../init/service-steps.ts';
import { RunningServices } from '../init/services.ts';
import { confirm, openTerminal, type Terminal } from '../init/terminal.ts';
import { directTrials, recordChange } from '../init/trials.ts';
import { liveServices } from '../operator/operator-headers.ts';
import { portOptions } from '../ports.ts';
import { CommandError, defineCommand } from './command.ts';

const table = defineOptions('trunkline init', 'Setting up', {
  trunklineHome: homeOptions.trunklineHome,
  ...portOptions,
  url: text({ flag: '--url', doc: 'Address of a model, for a script: sets it without questions.' }),
  model: text({
    flag: '--model',
    doc: 'Name of the model at --url.',
    defaultDoc: 'the only one that is listed there',
  }),
  apiKeyFile: file({
    flag: '--api-key-file',
    mustExist: true,
    doc: 'File that holds the key; no key is ever taken from the command line.',
  }),
  gguf: file({ flag: '--gguf', mustExist: true, doc: 'A model as a GGUF file, instead of --url.' }),
  demo: toggle({
    flag: '--demo',
    default: false,
    doc: 'Removes the chat model that was set: the demo model answers again.',
  }),
  role: choice({
    flag: '--role',
    values: modelRoles,
    default: 'chat',
    doc: 'What the model at --url is for.',
  }),
  yes: toggle({ flag: '--yes', default: false, doc: 'Asks nothing: saves the model when its test is good.' }),
  skipTest: toggle({ flag: '--skip-test', default: false, doc: 'Saves the model without a test.' }),
});

type InitOptions = OptionsOf<typeof table>;

const example = 'npx trunkline init --url http://127.0.0.1:11434/v1 --model qwen3:8b --yes';

const run = defineCommand({
  usage: 'trunkline init',
  options: table,
  async run(options, env) {
    const isScript = options.url !== undefined || options.gguf !== undefined;
    if (options.demo && isScript)
      throw new CommandError('--demo removes the model that --url or --gguf sets: give one of them.');
    if (
      !options.demo &&
      !(isScript && options.yes) &&
      !(process.stdin.isTTY === true && process.stdout.isTTY === true)
    )
      throw new CommandError(
        `This asks questions, so it needs a terminal. In a script, say what to set:\n  ${example}`,
      );
    const terminal = openTerminal();
    try {
      const setup = openSetup(options, env);
      const { signal } = new AbortController();
      if (options.demo) {
        terminal.say(await backToDemo(setup));
        record(options.trunklineHome, 'chat');
      } else if (isScript) await setUpBy(options, terminal, setup, signal);
      else {
        terminal.say('Setting up Trunkline. Enter skips a step; Ctrl-C stops, and what was saved stays.\n');
        const services = await servicesOf(options, env);
        const home = options.trunklineHome;
        const direct = directTrials({ home, env, logger: errorsOnly() });
        if (await modelStep(terminal, setup, signal, await services.overrides())) record(home, 'chat');
        await serviceSteps({ terminal, setup, services, direct, home });
        const look = (image?: string) => lookAtSandbox(home, env, image);
        await sandboxStep({ terminal, look, change: direct.change });
        const next = (await services.isAnyRunning())
          ? 'The services that run use it already'
          : '"npx trunkline up" starts the services';
        terminal.say(`\nThat was all. ${next}; "npx trunkline init" shows and changes this again.`);
      }
      return 0;
    } catch (error) {
      if (error instanceof ConfigError) throw new CommandError(error.message, { cause: error });
      throw error;
    } finally {
      terminal.close();
    }
  },
});

const help = `Sets up Trunkline by asking: the model for all four services, then speech, search, a connector and a first result.
Every step can be skipped with Enter; run it again to see what is set, and to change it.
What it sets stands in TRUNKLINE_HOME (models.yaml, settings.yaml, the stored secrets). Services that run take it at once.

In a script: ${example}
(with --api-key-file FILE where a key is needed)
Back to the demo model: npx trunkline init --demo
`;

export async function main(argv: readonly string[], env: Environment): Promise<number> {
  if (!argv.includes('--help') && !argv.includes('-h')) return await run(argv, env);
  console.log(`${help}\n${helpText('npx trunkline init', table)}`);
  return 0;
}

/** Sets the model that the flags name; tests it first. */
async function setUpBy(
  options: InitOptions,
  terminal: Terminal,
  setup: Setup,
  signal: AbortSignal,
): Promise<void> {
  const given = await modelOf(options, setup, signal);
  const tested = options.skipTest ? undefined : await setup.test(given, signal);
  if (tested !== undefined) terminal.say(testWords(tested));
  if (options.yes && tested?.ok === false)
    throw new CommandError('Nothing was saved; --skip-test saves it without a test.');
  if (!options.yes && !(await confirm(terminal, 'Save it?', tested?.ok !== false))) return;
  await setup.save(savedOf(options.role, given));
  record(options.trunklineHome, options.role);
  terminal.say(`Saved as the ${options.role} model of all four services.`);
  const { overrides } = await setup.view('trunkline');
  for (const { words } of overrides) terminal.say(`Note: ${words}`);
}

async function modelOf(
  { url, gguf, model, apiKeyFile }: InitOptions,
  setup: Setup,
  signal: AbortSignal,
): Promise<ModelUnderTest> {
  if (url === undefined) return { file: resolve(gguf ?? '') };
  if (gguf !== undefined) throw new CommandError('--url and --gguf are two models: give one of them.');
  const apiKey = apiKeyFile === undefined ? undefined : readKey(apiKeyFile);
  if (model !== undefined) return { url, apiKey, model };
  const listed = await setup.list({ url, apiKey }, signal);
  const [only] = listed.models;
  if (only !== undefined && listed.models.length === 1) return { url, apiKey, model: only };
  throw new CommandError(listed.problem ?? `Choose one with --model: ${listed.models.join(', ')}`);
}

/** Where they run from this home, else at their ports. */
async function servicesOf(options: InitOptions, env: Environment): Promise<RunningServices> {
  const live = await liveServices(options.trunklineHome);
  const at = (name: string, port: number) =>
    live.find((service) => service.name === name)?.url ?? `http://127.0.0.1:${port}`;
  const urls = {
    voice: at('voice', options.voicePort),
    agent: at('agent', options.agentPort),
    research: at('research', options.researchPort),
    switchboard: at('switchboard', options.switchboardPort),
  };
  return new RunningServices(urls, options.trunklineHome, env);
}

function readKey(path: string): string {
  try {
    const key = readFileSync(path, 'utf8').trim();
    if (key !== '') return key;
  } catch (error) {
    throw new CommandError(`${path} cannot be read: ${errorMessage(error)}`, { cause: error });
  }
  throw new CommandError(`${path} is empty: write the key into it.`);
}

const modelTable = defineOptions('trunkline init', 'Models', { ...homeOptions, ...modelOptions });

function openSetup({ trunklineHome }: InitOptions, env: Environment): Setup {
  const own = { ...env, TRUNKLINE_HOME: trunklineHome };
  const options = { ...readOptions(modelTable, { env: own }), llmUrl: variableText('LLM_URL', own) };
  const isOwn = (url: string) => isServedAt(trunklineHome, url);
  return new Setup({ options, secrets: secretStoreOf(own), env: own, logger: errorsOnly(), isOwn });
}

function errorsOnly() {
  const destination = { write: (line: string) => process.stderr.write(line) };
  return createLogger({ name: 'init', level: 'ERROR', destination });
}

function record(home: string, role: string): void {
  recordChange(home, 'setup.model', role);
}

const sandboxTable = defineOptions('trunkline init', 'Sandbox', { ...homeOptions, ...sandboxOptions });

/** Where programs run with what is set now, or with another image. */
async function lookAtSandbox(home: string, env: Environment, given?: string) {
  const own = { ...env, TRUNKLINE_HOME: home };
  const { sandbox: mode, sandboxImage } = readOptions(sandboxTable, { env: own });
  return await createSandbox({ mode, image: given ?? sandboxImage }).status();
}
