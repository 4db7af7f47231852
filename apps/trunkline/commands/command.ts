import { type Environment, helpText, type OptionsOf, type OptionTable, readOptions } from '@trunkline/config';

/** A failure that the terminal shows in these words; the exit code is 1. */
export class CommandError extends Error {}

interface CommandDefinition<Table extends OptionTable> {
  /** How it is called, for help. */
  usage: string;
  options: Table;
  /** Takes words besides its flags, each of which has a value. */
  takesWords?: boolean;
  /** Gives the exit code. */
  run(options: OptionsOf<Table>, env: Environment, words: readonly string[]): Promise<number>;
}

/** A command that shows its help, reads its flags and prints what failed. */
export function defineCommand<Table extends OptionTable>(command: CommandDefinition<Table>) {
  const { usage, options, takesWords = false, run } = command;
  return async (argv: readonly string[], env: Environment): Promise<number> => {
    if (argv.includes('--help') || argv.includes('-h')) {
      console.log(helpText(usage, options));
      return 0;
    }
    const { flags, words } = takesWords ? separateFlags(argv) : { flags: argv, words: [] };
    try {
      return await run(readOptions(options, { argv: flags, env }), env, words);
    } catch (error) {
      if (!(error instanceof CommandError)) throw error;
      console.error(error.message);
      return 1;
    }
  };
}

export function separateFlags(argv: readonly string[]): { flags: string[]; words: string[] } {
  const [flags, words]: [string[], string[]] = [[], []];
  for (let at = 0; at < argv.length; at += 1) {
    const token = argv[at] ?? '';
    if (!token.startsWith('--')) words.push(token);
    else if (token.includes('=')) flags.push(token);
    else flags.push(token, ...argv.slice(at + 1, ++at + 1));
  }
  return { flags, words };
}
