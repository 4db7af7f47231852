import { resolve } from 'node:path';
import { findGateways, providerPresets, type Setup } from '@trunkline/setup';
import type { ModelTest, ModelUnderTest, SavedModel, SetupRole, SetupView } from '@trunkline/std';
import { choose, confirm, type Terminal } from './terminal.ts';

/** A model that somebody chose, and others at the same address. */
interface Chosen {
  model: ModelUnderTest;
  others: readonly string[];
}

type Way = (terminal: Terminal, setup: Setup, signal: AbortSignal) => Promise<Chosen | undefined>;

const ways: readonly { title: string; take: Way }[] = [
  {
    title: 'On this machine: look for Ollama, LM Studio, llama.cpp and vLLM at their usual ports',
    take: takeFound,
  },
  { title: 'At a provider: OpenAI, Anthropic, Gemini, OpenRouter and others', take: takeProvider },
  { title: 'At another address', take: takeAddress },
  { title: 'In a GGUF file, which Trunkline runs itself', take: takeFile },
];

const roleWords: readonly (readonly [Exclude<SetupRole, 'chat'>, string])[] = [
  ['helper', 'titles and summaries (a small, fast model)'],
  ['judge', 'checks of citations'],
  ['vision', 'turns with an image'],
  ['embeddings', 'finding memories and documents by meaning (an embedding model)'],
];

const mostShown = 30;

/** Chooses, tests and saves the model; whether one was saved. `notes` are of services that run. */
export async function modelStep(
  terminal: Terminal,
  setup: Setup,
  signal: AbortSignal,
  notes: readonly string[] = [],
): Promise<boolean> {
  const view = await setup.view('trunkline');
  terminal.say(stateWords(view, notes));
  const isSet = view.steps.model === 'done';
  for (;;) {
    const enter = isSet ? 'keep it' : 'skip, the demo model answers';
    const titles = ways.map(({ title }) => title);
    if (isSet) titles.push('Nowhere: go back to the demo model');
    const way = await choose(terminal, 'Where does your model run?', titles, enter);
    if (way === undefined) {
      if (!isSet) await setup.setSteps({ steps: { model: 'skipped' } });
      return false;
    }
    if (way === ways.length) {
      terminal.say(await backToDemo(setup));
      return true;
    }
    const chosen = await ways[way]?.take(terminal, setup, signal);
    if (chosen !== undefined && (await testAndSave(terminal, setup, chosen, signal))) return true;
  }
}

/** Takes the chat model out of models.yaml, with its stored key; says what answers then. */
export async function backToDemo(setup: Setup): Promise<string> {
  await setup.save({ role: 'chat', model: null });
  const { overrides } = await setup.view('trunkline');
  const notes = overrides.map(({ words }) => `Note: ${words}`);
  return ['The chat model is removed from models.yaml; the demo model answers.', ...notes].join('\n');
}

/** What is set now, and what wins over it. */
function stateWords({ roles, file, overrides }: SetupView, notes: readonly string[]): string {
  const { chat, ...others } = roles;
  const own = Object.entries(others).map(([role, set]) => `\n  ${role}: ${set.model}${atWords(set.url)}`);
  const model = chat?.url === undefined ? undefined : `${chat.model}${atWords(chat.url)}`;
  const now = model ?? (file === undefined ? undefined : `the file ${file}`);
  return [
    `Model: ${now ?? 'none in models.yaml yet'}${own.join('')}`,
    ...new Set([...overrides.map(({ words }) => words), ...notes].map((words) => `Note: ${words}`)),
  ].join('\n');
}

function atWords(url: string | undefined): string {
  return url === undefined ? '' : ` at ${url}`;
}

async function takeFound(
  terminal: Terminal,
  _setup: Setup,
  signal: AbortSignal,
): Promise<Chosen | undefined> {
  terminal.say('Looking at 127.0.0.1, ports 11434, 1234, 8080 and 8000 ...');
  const found = await findGateways(signal);
  if (found.length === 0) {
    terminal.say('No model server answers there. Start one, or choose another way.');
    return undefined;
  }
  const titles = found.map(({ title, url, models, needsKey }) =>
    needsKey ? `${title} at ${url}: wants a key` : `${title} at ${url}: ${models.length} models`,
  );
  const at = found.length === 1 ? 0 : await choose(terminal, 'Which one?', titles, 'back');
  const gateway = at === undefined ? undefined : found[at];
  if (gateway === undefined) return undefined;
  if (found.length === 1) terminal.say(`Found ${titles[0]}.`);
  return takeModel(terminal, _setup, { url: gateway.url, needsKey: gateway.needsKey }, signal);
}

async function takeProvider(
  terminal: Terminal,
  setup: Setup,
  signal: AbortSignal,
): Promise<Chosen | undefined> {
  const at = await choose(
    terminal,
    'Which one?',
    providerPresets.map(({ title }) => title),
    'back',
  );
  const preset = at === undefined ? undefined : providerPresets[at];
  if (preset === undefined) return undefined;
  if (preset.note !== undefined) terminal.say(preset.note);
  if (preset.keyPage !== undefined) terminal.say(`Keys are made at ${preset.keyPage}`);
  const url = /[<>]/.test(preset.url) ? await terminal.ask(`Address (${preset.url}): `) : preset.url;
  if (url === undefined || url === '') return undefined;
  return takeModel(terminal, setup, { url, needsKey: preset.needsKey, example: preset.exampleModel }, signal);
}

async function takeAddress(
  terminal: Terminal,
  setup: Setup,
  signal: AbortSignal,
): Promise<Chosen | undefined> {
  const url = await terminal.ask(
    'Address of an OpenAI-compatible API, such as http://192.168.1.20:8000/v1: ',
  );
  return url === undefined || url === '' ? undefined : takeModel(terminal, setup, { url }, signal);
}

async function takeFile(terminal: Terminal, setup: Setup): Promise<Chosen | undefined> {
  const { files } = await setup.view('trunkline');
  const names = files.map(({ path, bytes }) => `${path} (${(bytes / 1024 ** 3).toFixed(1)} GiB)`);
  const at =
    files.length === 0 ? undefined : await choose(terminal, 'Which file?', names, 'type the path of another');
  const path = at === undefined ? await terminal.ask('Path of the .gguf file: ') : files[at]?.path;
  return path === undefined || path === '' ? undefined : { model: { file: resolve(path) }, others: [] };
}

interface Place {
  url: string;
  needsKey?: boolean;
  example?: string;
}

/** Lists what is there, with a key where one is wanted, and lets one be chosen. */
async function takeModel(
  terminal: Terminal,
  setup: Setup,
  { url, needsKey = false, example }: Place,
  signal: AbortSignal,
): Promise<Chosen | undefined> {
  const askKey = (hint: string) => terminal.ask(`Key (not shown${hint}): `, { hidden: true });
  let apiKey = needsKey ? (await askKey(', Enter uses a stored one')) || undefined : undefined;
  let listed = await setup.list({ url, apiKey }, signal);
  while (!listed.ok) {
    terminal.say(listed.problem ?? '');
    if (!/\bkey\b/.test(listed.problem ?? '')) break;
    apiKey = (await askKey(', Enter goes back')) || undefined;
    if (apiKey === undefined) return undefined;
    listed = await setup.list({ url, apiKey }, signal);
  }
  if (listed.models.length > 0) terminal.say(`\n${namesOf(listed.models)}`);
  const [only] = listed.models;
  const preset = listed.models.length === 1 ? only : undefined;
  const hint = example === undefined ? '' : `, for example ${example}`;
  for (;;) {
    const typed = await terminal.ask(`Model, as number or name${hint} (Enter: ${preset ?? 'back'}): `);
    const model = listed.models[Number(typed) - 1] ?? (typed === '' ? preset : typed);
    if (model === undefined || model === '') return undefined;
    // Some gateways take names that they do not list, and some take any name and answer with another model.
    const isKnown = listed.models.length === 0 || listed.models.includes(model);
    if (isKnown || (await confirm(terminal, `${model} is not on the list. Use it all the same?`, false)))
      return { model: { url: listed.url, apiKey, model }, others: listed.models };
  }
}

function namesOf(models: readonly string[]): string {
  const shown = models.slice(0, mostShown).map((name, at) => `  ${String(at + 1).padStart(2)}  ${name}`);
  const more = models.length - mostShown;
  return [...shown, ...(more > 0 ? [`      and ${more} more: type the name`] : [])].join('\n');
}

/** Whether it was saved. */
async function testAndSave(
  terminal: Terminal,
  setup: Setup,
  { model, others }: Chosen,
  signal: AbortSignal,
): Promise<boolean> {
  terminal.say('Testing: an answer, a tool call, an image ...');
  const tested = await setup.test(model, signal);
  terminal.say(testWords(tested));
  if (!tested.ok && !(await confirm(terminal, 'Save it all the same?', false))) return false;
  await setup.save(savedOf('chat', model));
  terminal.say('Saved in models.yaml for all four services.');
  if ('model' in model && (await confirm(terminal, 'Give single tasks a model of their own?', false)))
    await saveRoles(terminal, setup, model.model, others);
  return true;
}

async function saveRoles(
  terminal: Terminal,
  setup: Setup,
  chat: string,
  others: readonly string[],
): Promise<void> {
  for (const [role, purpose] of roleWords) {
    const without = role === 'embeddings' ? 'the one that comes with Trunkline' : chat;
    const typed = await terminal.ask(`${role}: ${purpose}; number, name, or Enter for ${without}: `);
    if (typed === undefined) return;
    if (typed !== '') await setup.save({ role, model: others[Number(typed) - 1] ?? typed });
  }
}

export function savedOf(role: SetupRole, given: ModelUnderTest): SavedModel {
  return 'file' in given ? { role: 'chat', file: given.file } : { role, ...given };
}

/** The result of a trial, a line a finding. */
export function testWords({ ok, summary, findings }: ModelTest): string {
  if (!ok) return `It does not work: ${summary}`;
  const lines = findings.map(
    ({ subject, ok: isGood, words }) => `  ${isGood ? 'ok  ' : 'note'}  ${subject.padEnd(8)} ${words}`,
  );
  return [summary, ...lines].join('\n');
}
