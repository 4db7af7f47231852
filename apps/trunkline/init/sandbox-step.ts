import type { SandboxStatus } from '@trunkline/sandbox';
import { CommandError } from '../commands/command.ts';
import { choose, confirm, type Terminal } from './terminal.ts';
import type { Trials } from './trials.ts';

export interface SandboxStepDeps {
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
