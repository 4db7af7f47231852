import { readFile, rm } from 'node:fs/promises';
import type { Bus, Message } from '@trunkline/bus';
import type { Logger } from '@trunkline/config';
import { resolveInside, writeFileAtomic } from '@trunkline/storage';
import { fieldsOf, text } from '../dispatch/request.ts';
import { entryName } from '../workspace/agent-schema.ts';
import type { ChangeStore } from './change-store.ts';
import { type KindName, kinds } from './kinds.ts';

export interface RegistrarSettings {
  bus: Bus;
  directory: string;
  changes: ChangeStore;
  logger: Logger;
}

/** Carries out `command.agent`, `command.a2a`, `command.mcp` and `command.route`: checked, written whole, and noted. */
export async function startRegistrar(settings: RegistrarSettings): Promise<void> {
  for (const kind of Object.keys(kinds) as KindName[]) {
    const handle = (message: Message) => answerCommand(kind, message, settings);
    await settings.bus.subscribe(`command.${kind}.*`, handle, {
      durable: `registrar-${kind}`,
      group: 'registrar',
      plugin: 'registrar',
    });
  }
}

/** A command that cannot be carried out is answered with words; trying again would not help. */
async function answerCommand(kind: KindName, message: Message, settings: RegistrarSettings): Promise<void> {
  const error = await failureOf(() => carryOut(kind, message, settings));
  const { correlationId, id: parentId } = message;
  const { bus, logger } = settings;
  if (error !== undefined) {
    logger.warn({ topic: message.topic }, error);
    const payload = { source: 'registrar', plugin: 'registrar', error, topic: message.topic };
    await bus.publish({ topic: 'system.error', payload, correlationId, parentId });
  }
  if (message.reply === undefined) return;
  const payload = error === undefined ? { success: true } : { success: false, error };
  await bus.publish({ topic: message.reply.topic, payload, correlationId, parentId });
}

async function carryOut(
  kind: KindName,
  message: Message,
  { directory, changes }: RegistrarSettings,
): Promise<void> {
  const { folder, check } = kinds[kind];
  const fields = fieldsOf(message.payload);
  const name = checkName(fields.name);
  const file = `${folder}/${name}.yaml`;
  const path = resolveInside(directory, file);
  const action = message.topic.split('.')[2];
  if (action !== 'upsert' && action !== 'remove')
    throw new Error(`${message.topic} is no command; use upsert or remove.`);
  const after = action === 'remove' ? null : (text(fields.yaml) ?? '');
  if (after !== null && (await check(after, file)) !== name)
    throw new Error(`${file}: its name must be ${name}.`);
  const before = await readIfThere(path);
  if (after === null) await rm(path, { force: true });
  else await writeFileAtomic(path, after);
  const by = message.source?.userId ?? message.source?.interface ?? 'unknown';
  changes.add({
    at: message.timestamp,
    by,
    messageId: message.id,
    topic: message.topic,
    file,
    before,
    after,
  });
}

/** A name that could lead anywhere else is refused before it comes near a path. */
function checkName(given: unknown): string {
  const parsed = entryName.safeParse(given);
  if (parsed.success) return parsed.data;
  throw new Error(`The name ${JSON.stringify(given)} is refused: ${parsed.error.issues[0]?.message}.`);
}

async function readIfThere(path: string): Promise<string | null> {
  try {
    return await readFile(path, 'utf8');
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return null;
    throw error;
  }
}

async function failureOf(work: () => Promise<void>): Promise<string | undefined> {
  try {
    await work();
    return undefined;
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
}
