import type { RESTPostAPIChatInputApplicationCommandsJSONBody } from 'discord.js';
import type { ChatFile } from '../../workspace/schema/chat.ts';

type Command = ChatFile['commands'][number];
type Subcommand = Command['subcommands'][number];

/** Numbers of the platform for kinds of options. */
const kinds = { subcommand: 1, string: 3, integer: 4, boolean: 5 } as const;

/** The commands of chat.yaml as the platform registers them. */
export function commandBodies(
  commands: readonly Command[],
): RESTPostAPIChatInputApplicationCommandsJSONBody[] {
  return commands.map(({ name, description, subcommands }) => ({
    name,
    description,
    options: subcommands.map((subcommand) => ({
      type: kinds.subcommand,
      name: subcommand.name,
      description: subcommand.description,
      options: subcommand.options.map((option) => ({
        type: kinds[option.type],
        name: option.name,
        description: option.description,
        required: option.required,
        ...(option.type !== 'boolean' && option.autocomplete && { autocomplete: true }),
      })),
    })),
  })) as RESTPostAPIChatInputApplicationCommandsJSONBody[];
}

export function findSubcommand(
  commands: readonly Command[],
  name: string,
  subcommand: string | undefined,
): Subcommand | undefined {
  const found = commands.find((command) => command.name === name);
  return found?.subcommands.find((each) => each.name === subcommand) ?? found?.subcommands[0];
}

/** The content of a subcommand: `{name}` stands for an option; what is named nowhere follows behind. */
export function fillContent(
  content: string,
  options: Readonly<Record<string, string | number | boolean>>,
): string {
  const used = new Set<string>();
  const filled = content.replace(/\{([\w-]+)\}/g, (whole, name: string) => {
    if (!(name in options)) return whole;
    used.add(name);
    return String(options[name]);
  });
  const rest = Object.entries(options).filter(([name]) => !used.has(name));
  return [filled, ...rest.map(([name, value]) => `${name}: ${value}`)].join('\n');
}
