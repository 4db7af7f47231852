import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import type { SandboxStatus } from '@trunkline/sandbox';
import type { Setup } from '@trunkline/setup';
import { type SetupStep, testMessage, testTopicAt } from '@trunkline/std';
import { CommandError } from '../commands/command.ts';
import { firstDigest } from './first-digest.ts';
import type { RunningServices, ServiceName } from './services.ts';
import { choose, confirm, type Terminal } from './terminal.ts';
import { type Connector, runningTrials, type Trials } from './trials.ts';

export interface StepDeps {
  terminal: Terminal;
  setup: Setup;
  services: RunningServices;
  /** For services that do not run. */
  direct: Trials;
  /** TRUNKLINE_HOME. */
  home: string;
}

interface Step {
  name: Exclude<SetupStep, 'model'>;
  title: string;
  service: ServiceName;
  /** Whether something was set. */
  run(deps: StepDeps, trials: Trials): Promise<boolean>;
}

const steps: readonly Step[] = [
  { name: 'speech', title: 'Speech: language and voice', service: 'voice', run: speech },
  { name: 'search', title: 'Web search', service: 'research', run: search },
  {
    name: 'connector',
    title: 'A connector: Discord, GitHub, Linear and others',
    service: 'switchboard',
    run: connector,
  },
];

const startAdvice = 'Start the services with "npm start"';

/** Everything after the model. A service that runs tests what is its own; for others it is tested here. */
export async function serviceSteps(deps: StepDeps): Promise<void> {
  const { terminal, setup, services } = deps;
  const states = (await setup.view('trunkline')).steps;
  for (const { name, title, service, run } of steps) {
    terminal.say(`\n${title}${states[name] === 'done' ? ' (done before)' : ''}`);
    const trials = (await services.isRunning(service)) ? runningTrials(services, service) : deps.direct;
    const isSet = await explained(terminal, () => run(deps, trials));
    if (isSet) await setup.setSteps({ steps: { [name]: 'done' } });
    else if (states[name] === 'open') await setup.setSteps({ steps: { [name]: 'skipped' } });
  }
  await explained(terminal, () => result(deps));
}

/** What a service refuses ends a step, not the rest. */
async function explained(terminal: Terminal, work: () => Promise<boolean>): Promise<boolean> {
  try {
    return await work();
  } catch (error) {
    if (!(error instanceof CommandError)) throw error;
    terminal.say(error.message);
    return false;
  }
}

async function speech({ terminal, home }: StepDeps, trials: Trials): Promise<boolean> {
  const view = await trials.speech();
  const titleOf = (id: string) => view.languages.find((language) => language.id === id)?.title ?? id;
  const offered = view.languages.filter(({ id }) => view.voices.some(({ language }) => language === id));
  const keep = `keep ${view.voice}, ${titleOf(view.language)}`;
  const at = await choose(
    terminal,
    'Which language does it speak?',
    offered.map(({ title }) => title),
    keep,
  );
  const language = at === undefined ? undefined : offered[at];
  if (language === undefined) return false;
  const voices = view.voices.filter((voice) => voice.language === language.id);
  const chosen = await choose(
    terminal,
    'Which voice?',
    voices.map(({ title }) => title),
    `${voices[0]?.title}`,
  );
  const voice = voices[chosen ?? 0]?.id ?? view.voice;
  terminal.say('Speaking ...');
  const sound = await trials.say({ text: 'Hello, this is how I sound.', voice, lang: language.id });
  const file = join(home, 'voice-test.wav');
  await writeFile(file, sound);
  terminal.say(`Listen to it: ${file}`);
  if (!(await confirm(terminal, 'Save this voice?', true))) return false;
  await trials.change({ INPROC_VOICE: voice, INPROC_LANG: language.id });
  return true;
}

const searchWays = [
  {
    title: 'a SearXNG of your own',
    fields: [
      { name: 'url', variable: 'SEARXNG_URL', question: 'Address of your SearXNG: ', hidden: false },
      {
        name: 'basicAuth',
        variable: 'SEARXNG_BASIC_AUTH',
        question: 'user:password, if it asks for them (not shown): ',
        hidden: true,
      },
    ],
  },
  keyedSearch('Brave Search', 'braveApiKey', 'BRAVE_API_KEY'),
  keyedSearch('Tavily', 'tavilyApiKey', 'TAVILY_API_KEY'),
];

function keyedSearch(service: string, name: string, variable: string) {
  const question = `API key of ${service} (not shown): `;
  return { title: `${service}, with an API key`, fields: [{ name, variable, question, hidden: true }] };
}

async function search({ terminal }: StepDeps, trials: Trials): Promise<boolean> {
  const titles = searchWays.map(({ title }) => title);
  const at = await choose(terminal, 'Where is the web searched?', titles, 'without a key, refused at times');
  const fields = at === undefined ? [] : (searchWays[at]?.fields ?? []);
  const given: { name: string; variable: string; value: string }[] = [];
  for (const { question, hidden, ...field } of fields) {
    const value = await terminal.ask(question, { hidden });
    if (value && field.name === 'url' && !/^https?:$/.test(URL.parse(value)?.protocol ?? ''))
      throw new CommandError(`"${value}" is no address. It should look like http://127.0.0.1:8888.`);
    if (value) given.push({ ...field, value });
    else if (given.length === 0) break;
  }
  if (given.length === 0) return false;
  const { results, troubles } = await trials.search({
    query: 'weather in Oslo',
    ...Object.fromEntries(given.map(({ name, value }) => [name, value])),
  });
  for (const trouble of troubles) terminal.say(trouble);
  for (const { title, url: address } of results) terminal.say(`  ${title}  ${address}`);
  if (results.length === 0) terminal.say('It found nothing.');
  if (!(await confirm(terminal, 'Save it?', results.length > 0))) return false;
  await trials.change(Object.fromEntries(given.map(({ variable, value }) => [variable, value])));
  return true;
}

async function connector(deps: StepDeps, trials: Trials): Promise<boolean> {
  const { terminal, services } = deps;
  const { connectors } = await trials.connectors();
  const titles = connectors.map(({ title, state }) => `${title}${state === 'running' ? ' (connected)' : ''}`);
  const at = await choose(terminal, 'Which one?', titles, 'skip');
  const chosen = at === undefined ? undefined : connectors[at];
  if (chosen === undefined) return false;
  terminal.say(chosen.guide);
  const values: Record<string, string> = {};
  for (const { variable, doc, secret, isSet } of chosen.fields.filter(({ isOptional }) => !isOptional)) {
    const enter = isSet ? 'Enter keeps it' : 'Enter leaves it out';
    const hint = secret ? `${enter}, not shown` : enter;
    const value = await terminal.ask(`${variable}: ${doc} (${hint}) `, { hidden: secret });
    if (value) values[variable] = value;
  }
  const checked = await trials.checkConnector(chosen.name, values);
  terminal.say(`${chosen.title}: ${checked.words}`);
  if (!(await confirm(terminal, 'Save it?', checked.ok))) return false;
  await trials.change(values);
  if (trials === deps.direct) {
    const page = `${services.url('switchboard')}/setup/connector`;
    terminal.say(`Saved. It connects when the services start; ${page} then sends a test message.`);
  } else if (await isConnected(deps.terminal, trials, chosen.name)) await sendTestMessage(deps, chosen);
  return true;
}

/** Looks, a second apart: a busy machine takes its time to start a service again. */
const connectLimit = 120;

/** The switchboard restarts itself with what was saved. */
async function isConnected(terminal: Terminal, trials: Trials, name: string): Promise<boolean> {
  terminal.say('Saved. Connecting ...');
  for (let attempt = 0; attempt < connectLimit; attempt += 1) {
    const view = await trials.connectors().catch(() => undefined);
    const found = view?.connectors.find((each) => each.name === name);
    if (found?.state === 'running') return true;
    if (found?.state === 'failed') {
      terminal.say(found.words ?? 'It failed to connect.');
      return false;
    }
    await pause(1000);
  }
  terminal.say('It is not connected yet; the page of the switchboard shows how it goes on.');
  return false;
}

async function sendTestMessage(
  { terminal, services }: StepDeps,
  { title, testTopic, testPlace }: Pick<Connector, 'title' | 'testTopic' | 'testPlace'>,
): Promise<void> {
  if (testTopic === null || !(await confirm(terminal, `Send a test message through ${title}?`, true))) return;
  const place = testPlace && (await terminal.ask(`${testPlace.label}, such as ${testPlace.example}: `));
  if (testPlace && !place) return;
  const body = { topic: testTopicAt(testTopic, place ?? ''), payload: testMessage };
  await services.send('switchboard', '/publish', { method: 'POST', body });
  terminal.say(`Sent. Look into ${title}; the page Deliveries of the switchboard shows what became of it.`);
}

const results = [
  { id: 'digest', title: 'A morning digest', service: 'agent' },
  { id: 'report', title: 'A report on a PDF that you drop', service: 'research' },
  { id: 'reminder', title: 'A reminder by voice', service: 'voice' },
] as const;

async function result({ terminal, setup, services }: StepDeps): Promise<boolean> {
  const at = await choose(
    terminal,
    'What do you want to get first?',
    results.map(({ title }) => title),
    'nothing now',
  );
  const chosen = at === undefined ? undefined : results[at];
  const { steps: states } = await setup.view('trunkline');
  if (chosen === undefined) {
    if (states.result === 'open') await setup.setSteps({ steps: { result: 'skipped' } });
    return false;
  }
  // What was got before stays so.
  const before = states.result === 'done' ? 'done' : 'open';
  const isRunning = await services.isRunning(chosen.service);
  if (isRunning && chosen.id === 'digest') {
    const isWritten = await firstDigest(terminal, services);
    await setup.setSteps({ steps: { result: isWritten ? 'done' : before }, result: chosen.id });
    return isWritten;
  }
  const page = `${services.url(chosen.service)}/setup/result#${chosen.id}`;
  terminal.say(isRunning ? `Open ${page}` : `${startAdvice}, then open ${page}`);
  terminal.say('A browser that is not signed in needs the link of "npx trunkline login" first.');
  // The page does the rest, and marks it done.
  await setup.setSteps({ steps: { result: before }, result: chosen.id });
  return false;
}

interface SandboxStepDeps {
  terminal: Terminal;
  /** Where programs run now, or would run with this image of podman or docker. */
  look(image?: string): Promise<SandboxStatus>;
  change: Trials['change'];
}

const question = 'How shall commands, MCP servers, coding agents and plugins run?';
const ways = [
  'in containers, with an image of podman or docker that is on this machine',
  'without a sandbox, with all rights of this account',
];

/** Where there is no sandbox: says why, and saves what the operator chooses instead. Enter leaves programs refused. */
export async function sandboxStep(deps: SandboxStepDeps): Promise<void> {
  const { terminal, look } = deps;
  const { isolated, refuses, isBusy, words, advice } = await look();
  if (isolated) return;
  terminal.say(['', `Sandbox: ${words}`, advice ?? ''].join('\n').trimEnd());
  // A busy machine is no reason to do without one for good.
  if (!refuses || isBusy) return;
  const way = await choose(terminal, question, ways, 'not at all, until there is a sandbox');
  if (way === undefined) return;
  try {
    const isSaved = way === 0 ? await useContainers(deps) : await useNone(deps);
    if (isSaved) terminal.say('Saved. Services that run take it when they start again.');
  } catch (error) {
    if (!(error instanceof CommandError)) throw error;
    terminal.say(error.message);
  }
}

/** Only an image that is there and can be started is saved. */
async function useContainers({ terminal, look, change }: SandboxStepDeps): Promise<boolean> {
  for (;;) {
    const image = await terminal.ask('Name of the image (Enter: leave it): ');
    if (image === undefined || image === '') return false;
    const { isolated, words } = await look(image);
    terminal.say(`Sandbox: ${words}`);
    if (!isolated) continue;
    await change({ SANDBOX_IMAGE: image });
    return true;
  }
}

async function useNone({ terminal, change }: SandboxStepDeps): Promise<boolean> {
  terminal.say(
    'Whatever a model, or a page that it has read, makes them do then reaches your files and keys.',
  );
  if (!(await confirm(terminal, 'Run them without a sandbox?', false))) return false;
  await change({ TRUNKLINE_SANDBOX: 'off' });
  return true;
}
