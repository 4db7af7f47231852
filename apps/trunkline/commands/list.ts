import type { Environment } from '@trunkline/config';
import { version } from '../version.ts';

export interface Command {
  summary: string;
  /** Runs until a signal stops it. */
  isService?: true;
  /** Begins what takes its time, beside loading the rest. */
  prepare?(env: Environment): Promise<void>;
  /** Loaded only when it is run, so that help and small commands start at once. */
  load(): Promise<{ main(argv: readonly string[], env: Environment): Promise<number> }>;
}

/** Every command of `trunkline`, in the order in which help lists them. */
export const commands: Readonly<Record<string, Command>> = {
  up: { ...service('Run all four services in one process.', () => import('./up.ts')), prepare: prepareBus },
  voice: service('Run the voice service alone.', () => import('@trunkline/voice')),
  agent: service('Run the agent service alone.', () => import('@trunkline/agent')),
  research: service('Run the research service alone.', () => import('@trunkline/research')),
  switchboard: {
    ...service('Run the switchboard alone.', () => import('@trunkline/switchboard')),
    prepare: prepareBus,
  },
  init: {
    summary: 'Set up by asking: the model first, then speech, search, a connector and a first result.',
    load: () => import('./init.ts'),
  },
  login: {
    summary: 'Print links that sign a browser in as the operator.',
    load: () => import('./login.ts'),
  },
  doctor: {
    summary: 'Check model, speech, addresses, ports and directories (--fix mends some), and say what to do.',
    load: () => import('./doctor.ts'),
  },
  audit: {
    summary: 'Look for weak spots (--fix mends some); log, verify, export: the audit log of all services.',
    load: () => import('./audit.ts'),
  },
  secret: {
    summary: 'Store keys and tokens encrypted: list, set, get, remove, rotate-key, import.',
    load: () => import('./secret.ts'),
  },
  backup: {
    summary: 'Copy all data into a new folder, also while the services run.',
    load: () => import('./backup.ts'),
  },
  chat: {
    summary: 'Hold a conversation with the agent service in this terminal.',
    load: () => import('./chat.ts'),
  },
  approvals: {
    summary: 'Show what waits for your approval; approve ID or deny ID.',
    load: () => import('./approvals.ts'),
  },
  users: {
    summary: 'The people of this installation: roles, keys, pairing.',
    load: () => import('./users.ts'),
  },
  policy: {
    summary: 'Show the policy for tools, or explain what would happen to a call.',
    load: () => import('./policy.ts'),
  },
  send: {
    summary: 'Send a message through the switchboard, or many line by line, and print the answers.',
    load: () => import('./send.ts'),
  },
};

function service(summary: string, load: Command['load']): Command {
  return { summary, isService: true, load };
}

/** The journal of the embedded bus, as long as nothing says that NATS takes its place. */
async function prepareBus(env: Environment): Promise<void> {
  if ((env.NATS_URL ?? '').trim() !== '') return;
  const { prepareJournal } = await import('@trunkline/bus');
  prepareJournal();
}

/** The text of `trunkline --help`. */
export function overview(): string {
  const width = Math.max(...Object.keys(commands).map((name) => name.length));
  const lines = Object.entries(commands).map(([name, { summary }]) => `  ${name.padEnd(width)}  ${summary}`);
  return [
    `Trunkline ${version}: a self-hosted exchange for people and agents.`,
    '',
    'Usage: trunkline COMMAND [flags]',
    '',
    ...lines,
    '',
    '"trunkline COMMAND --help" lists the flags and variables of a command.',
    'Variables are also read from a file .env in the present folder; .env.example shows them all.',
  ].join('\n');
}
