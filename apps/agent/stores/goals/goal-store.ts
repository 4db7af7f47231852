import { existsSync } from 'node:fs';
import { readdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { maySee } from '@trunkline/identity';
import { ifExists, readJsonFile, StorageError, safeFileName, writeFileAtomic } from '@trunkline/storage';
import { z } from 'zod';
import { type Actor, operatorActor } from '../../owners.ts';
import { StoreError } from '../store-error.ts';

/** How it is found out whether a goal is reached. */
export const verifierSchema = z.discriminatedUnion('type', [
  z.object({ type: z.literal('command'), command: z.string().min(1) }),
  z.object({ type: z.literal('test'), command: z.string().min(1) }),
  z.object({ type: z.literal('data'), path: z.string().min(1), contains: z.string().default('') }),
  z.object({ type: z.literal('llm') }),
]);

/** Where the approved command of a goal runs, and the scripts that it runs, as they were approved. */
const approvalSchema = z.object({
  directory: z.string(),
  files: z.array(z.object({ path: z.string(), sha256: z.string() })),
});

const goalSchema = z.object({
  session_id: z.string(),
  condition: z.string(),
  verifier: verifierSchema,
  status: z.enum(['active', 'achieved', 'exhausted', 'unachievable']),
  iteration: z.number(),
  reason: z.string(),
  evidence: z.string(),
  /** How often in a row a check found the same. */
  stuck: z.number().default(0),
  /** Missing where nobody approved a command: then none is run. */
  approval: approvalSchema.optional(),
  /** Missing in goals of before they had owners, which are everybody's. */
  owner: z.string().optional(),
});

export type GoalVerifier = z.output<typeof verifierSchema>;
export type Goal = z.output<typeof goalSchema>;
export type GoalApproval = z.output<typeof approvalSchema>;

/** What a session works towards, one JSON file a session; as the operator sees it, `for` gives it as others do. */
export class GoalStore {
  readonly #directory: string;
  readonly #actor: Actor;

  constructor(directory: string, actor = operatorActor) {
    this.#directory = directory;
    this.#actor = actor;
  }

  for(actor: Actor): GoalStore {
    return new GoalStore(this.#directory, actor);
  }

  async set(
    sessionId: string,
    condition: string,
    verifier: GoalVerifier,
    approval?: GoalApproval,
  ): Promise<Goal> {
    const start = { status: 'active', iteration: 0, reason: '', evidence: '', stuck: 0 } as const;
    return await this.save({
      session_id: sessionId,
      condition,
      verifier,
      ...start,
      ...(approval && { approval }),
      owner: this.#actor.owner,
    });
  }

  async save(goal: Goal): Promise<Goal> {
    await writeFileAtomic(this.#fileOf(goal.session_id), JSON.stringify(goal, null, 2));
    return goal;
  }

  /** Fails with a StoreError where the file is damaged. */
  async get(sessionId: string): Promise<Goal | undefined> {
    const file = this.#fileOf(sessionId);
    // Asked after every turn, and hardly any session has a goal: a look costs less than a failed read.
    return existsSync(file) ? await read(file) : undefined;
  }

  /** All that can be read and seen. */
  async list(): Promise<Goal[]> {
    const names = ((await ifExists(readdir(this.#directory))) ?? []).sort();
    const goals = names.filter((name) => name.endsWith('.json'));
    const found = await Promise.allSettled(goals.map((name) => read(join(this.#directory, name))));
    return found
      .flatMap((each) => (each.status === 'fulfilled' ? (each.value ?? []) : []))
      .filter((goal) => this.#sees(goal));
  }

  /**
   * A goal of somebody else stays. One that cannot be read is removed by the owner that its file still names, and else by
   * the operator alone: whose it was, nobody can say.
   */
  async remove(sessionId: string): Promise<void> {
    const file = this.#fileOf(sessionId);
    if (!existsSync(file) || !this.#sees({ owner: await ownerIn(file) })) return;
    await rm(file, { force: true });
  }

  #sees({ owner }: Pick<Goal, 'owner'>): boolean {
    return maySee(this.#actor.viewer, owner);
  }

  #fileOf(sessionId: string): string {
    return join(this.#directory, `${safeFileName(sessionId)}.json`);
  }
}

/** Nobody has this key, so that only those who see everything see what has it. */
const UNKNOWN_OWNER = 'unknown';
const owned = z.object({ owner: z.string().optional() });

/** The owner of a stored goal, however damaged the rest of it is. Goals from before they had owners have none. */
async function ownerIn(file: string): Promise<string | undefined> {
  try {
    const stored = await readJsonFile(file);
    const { owner } = owned.parse(stored ?? {});
    return owner ?? (goalSchema.safeParse(stored).success ? undefined : UNKNOWN_OWNER);
  } catch (error) {
    if (error instanceof StorageError || error instanceof z.ZodError) return UNKNOWN_OWNER;
    throw error;
  }
}

async function read(file: string): Promise<Goal | undefined> {
  try {
    const stored = await readJsonFile(file);
    return stored === undefined ? undefined : goalSchema.parse(stored);
  } catch (error) {
    if (!(error instanceof StorageError || error instanceof z.ZodError)) throw error;
    throw new StoreError(
      'invalid',
      `${file} holds no goal that can be read. Set the goal anew, or remove it.`,
    );
  }
}
