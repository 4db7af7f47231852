import { type Bus, type Draft, escapeSegment } from '@trunkline/bus';
import type { AutocompleteInteraction, ChatInputCommandInteraction } from 'discord.js';
import { derivedId } from '../../core/derived-id.ts';
import { fromSurface } from '../../core/principals.ts';
import type { ChatFile } from '../../workspace/schema/chat.ts';
import { fillContent, findSubcommand } from './commands.ts';
import type { ChatState } from './state.ts';

export interface InteractionSettings {
  bus: Bus;
  state: ChatState;
  commands: () => ChatFile['commands'];
  /** What may be chosen for an option of that name. */
  suggestions(option: string): readonly string[];
}

const onboard = 'onboard';
const mostSuggestions = 25;

/** A slash command becomes a message; the platform is told at once that an answer follows. */
export async function takeCommand(
  interaction: ChatInputCommandInteraction,
  { bus, state, commands }: InteractionSettings,
): Promise<void> {
  const subcommand = interaction.options.getSubcommand(false) ?? undefined;
  const found = findSubcommand(commands(), interaction.commandName, subcommand);
  if (found === undefined) {
    await interaction.reply({ content: 'This command is no longer known here.', flags: 64 });
    return;
  }
  const { id, applicationId, token, channelId } = interaction;
  await state.openInteraction(id, { applicationId, token, channelId: channelId ?? undefined });
  await interaction.deferReply();
  await bus.publish(fromSurface(draftOf(interaction, found)));
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
    arrivedAt: Date.now(),
  };
  return { ...shared, topic: `message.inbound.chat.slash.${escapeSegment(id)}`, payload };
}

/** Offers what begins with, or holds, what was typed so far. */
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
