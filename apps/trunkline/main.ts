// The command line: chooses a command, and ends the process with its exit code.
import { join } from 'node:path';
import { ConfigError, loadEnvironmentFile, nearest } from '@trunkline/config';
import { type Command, commands, overview } from './commands/list.ts';
import { settingNotes } from './misspelt.ts';
import { version } from './version.ts';

// Not awaited here, as its bundle is CommonJS. A service logs rejections that nobody handles; this one ends the process.
run(process.argv.slice(2)).then(
  (code) => process.exit(code),
  (error: unknown) =>
    process.nextTick(() => {
      throw error;
    }),
);

async function run([name = 'help', ...argv]: string[]): Promise<number> {
  if (name === 'help' && argv[0] !== undefined) return run([argv[0], '--help']);
  if (name === 'help' || name === '--help' || name === '-h') return say(overview());
  if (name === '--version' || name === '-v') return say(version);
  const command = Object.hasOwn(commands, name) ? commands[name] : undefined;
  if (!command) {
    const meant = nearest(name, Object.keys(commands));
    const guess = meant === undefined ? '' : ` Did you mean "${meant}"?`;
    return complain(`There is no command "${name}".${guess} "trunkline --help" lists them.`);
  }
  return execute(command, argv);
}

async function execute(command: Command, argv: string[]): Promise<number> {
  try {
    const env = loadEnvironmentFile(join(process.cwd(), '.env'));
    const isHelp = argv.includes('--help') || argv.includes('-h');
    if (!isHelp) await command.prepare?.(env);
    const { main } = await command.load();
    if (command.isService && !isHelp) for (const note of await settingNotes(env)) console.error(note);
    return await main(argv, env);
  } catch (error) {
    if (error instanceof ConfigError) return complain(error.message);
    throw error;
  }
}

function say(text: string): number {
  console.log(text);
  return 0;
}

function complain(words: string): number {
  console.error(words);
  return 2;
}
