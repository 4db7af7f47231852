import { type Bus, type Draft, escapeSegment } from '@trunkline/bus';
import type {
  AutocompleteInteraction,
  ChatInputCommandInteraction,
  RESTPostAPIChatInputApplicationCommandsJSONBody,
} from 'discord.js';
import { derivedId } from '../../core/messages.ts';
import type { PluginContext } from '../../core/plugins.ts';
import type { ChatFile } from '../../workspace/schema/chat.ts';
import type { ChatState } from './state.ts';

/** Option types of the platform. */
const kinds = { subcommand: 1, string: 3, integer: 4, boolean: 5 } as const;

export interface InteractionSettings {
  bus: Bus;
  senders: PluginContext['senders'];
  state: ChatState;
  commands: () => ChatFile['commands'];
  suggestions(option: string): readonly string[];
}

const onboard = 'onboard';
const mostSuggestions = 25;

/** Publishes a slash command; the platform is told at once that an answer follows. */
export async function takeCommand(
  interaction: ChatInputCommandInteraction,
  { bus, senders, state, commands }: InteractionSettings,
): Promise<void> {
  const subcommand = interaction.options.getSubcommand(false) ?? undefined;
  const found = findSubcommand(commands(), interaction.commandName, subcommand);
  if (found === undefined) {
    await interaction.reply({ content: 'This command is no longer known here.', flags: 64 });
    return;
  }
  const identity = discordIdentity(interaction.user.id);
  const stamped = senders.stamp(draftOf(interaction, found), { identity });
  if (!senders.takes(stamped)) {
    await interaction.reply({ content: 'You have sent more than you may in a day.', flags: 64 });
    return;
  }
  const { id, applicationId, token, channelId } = interaction;
  await state.openInteraction(id, { applicationId, token, channelId: channelId ?? undefined });
  await interaction.deferReply();
  await bus.publish(stamped);
}

/** A user of the platform, as accounts name them. */
export function discordIdentity(userId: string): string {
  return `discord:${userId}`;
}

function draftOf(
  interaction: ChatInputCommandInteraction,
  { content, skillHint, options }: NonNullable<ReturnType<typeof findSubcommand>>,
): Draft {
  const { id, channelId, user } = interaction;
  const given = Object.fromEntries(
    options.flatMap(({ name }) => {
      const value = interaction.options.get(name)?.value;
      return value === undefined ? [] : [[name, value]];
    }),
  );
  const shared: Omit<Draft, 'topic' | 'payload'> = {
    id: derivedId(id, 'slash'),
    source: { interface: 'chat', ...(channelId && { channelId }), userId: user.id },
    reply: { topic: `message.outbound.chat.slash.${escapeSegment(id)}`, format: 'markdown' },
  };
  if (interaction.commandName === onboard)
    return { ...shared, topic: 'message.inbound.onboard', payload: given };
  const payload = {
    content: fillContent(content, given),
    ...(skillHint !== undefined && { skillHint }),
    options: given,
    author: user.username,
    mentioned: true,
    awaitsReply: true,
    arrivedAt: Date.now(),
  };
  return { ...shared, topic: `message.inbound.chat.slash.${escapeSegment(id)}`, payload };
}

/** Suggests what contains the typed text. */
export async function suggest(
  interaction: AutocompleteInteraction,
  { suggestions }: Pick<InteractionSettings, 'suggestions'>,
): Promise<void> {
  const { name, value } = interaction.options.getFocused(true);
  const typed = String(value).toLowerCase();
  const found = suggestions(name).filter((each) => each.toLowerCase().includes(typed));
  const choices = found
    .slice(0, mostSuggestions)
    .map((each) => ({ name: each.slice(0, 100), value: each.slice(0, 100) }));
  await interaction.respond(choices);
}

type Command = ChatFile['commands'][number];

type Subcommand = Command['subcommands'][number];

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

function findSubcommand(
  commands: readonly Command[],
  name: string,
  subcommand: string | undefined,
): Subcommand | undefined {
  const found = commands.find((command) => command.name === name);
  return found?.subcommands.find((each) => each.name === subcommand) ?? found?.subcommands[0];
}

/** `{name}` is replaced by the option; options not named are appended. */
function fillContent(content: string, options: Readonly<Record<string, string | number | boolean>>): string {
  const used = new Set<string>();
  const filled = content.replace(/\{([\w-]+)\}/g, (whole, name: string) => {
    if (!(name in options)) return whole;
    used.add(name);
    return String(options[name]);
  });
  const rest = Object.entries(options).filter(([name]) => !used.has(name));
  return [filled, ...rest.map(([name, value]) => `${name}: ${value}`)].join('\n');
}
