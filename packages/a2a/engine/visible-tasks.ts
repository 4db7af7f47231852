import { isRefusal } from '@trunkline/http';
import { maySee, type Principal } from '@trunkline/identity';
import { errorMessage } from '@trunkline/std';
import { A2aError, invalidParams, taskNotFound } from '../errors/a2a-error.ts';
import { isParked, type Task } from '../protocol/model.ts';
import type { LiveTask } from './live-task.ts';
import type { SendCommand, StartedTurn } from './send-command.ts';
import type { ListQuery, TaskPage } from './task-memory.ts';

/** Who may do what with the tasks of others. Left out, everybody has their own, and the operator all. */
export interface TaskAccess {
  /** As whom somebody looks at tasks; as themselves when left out. */
  viewer?(principal: Principal): Principal;
  /** Whether they may answer the question of a task that they do not see; nobody when left out. */
  mayAnswer?(task: Task, principal: Principal): boolean;
  /** The message as it is carried out: for whom, and with what metadata; as it came when left out. */
  receive?(command: SendCommand): SendCommand;
  /** Why they may not begin a task in a conversation; undefined where they may. */
  refuseContext?(contextId: string, principal: Principal): string | undefined;
}

/** What a `TaskEngine` does with all tasks. */
interface AllTasks {
  find(id: string): LiveTask;
  list(query: ListQuery): TaskPage;
  cancel(id: string, strict: boolean, by: Principal): CanceledTask;
  start(command: SendCommand): StartedTurn;
}

/** Of the tasks that a message refers to; more are left aside. */
const mostReferences = 10;

interface CanceledTask {
  task: Task;
  stored: Promise<boolean>;
}

/** The tasks of an engine as somebody sees them: with those of others it is as if they did not exist. */
export class VisibleTasks {
  readonly #engine: AllTasks;
  readonly #principal: Principal;
  readonly #viewer: Principal;
  readonly #access: TaskAccess;
  readonly #tenant: string | undefined;

  /** With a tenant, only its tasks exist. */
  constructor(engine: AllTasks, principal: Principal, access: TaskAccess, tenant?: string) {
    this.#engine = engine;
    this.#principal = principal;
    this.#viewer = access.viewer?.(principal) ?? principal;
    this.#access = access;
    this.#tenant = tenant;
  }

  find(id: string): LiveTask {
    const live = this.#engine.find(id);
    if (!this.#sees(live.snapshot())) throw taskNotFound(id);
    return live;
  }

  get(id: string): Task {
    return this.find(id).snapshot();
  }

  list(query: ListQuery): TaskPage {
    return this.#engine.list({ ...query, viewer: this.#viewer, tenant: this.#tenant });
  }

  cancel(id: string, strict: boolean): CanceledTask {
    return this.#engine.cancel(this.find(id).id, strict, this.#principal);
  }

  start(sent: Omit<SendCommand, 'principal' | 'mayAnswer'>): StartedTurn {
    const [principal, { mayAnswer, refuseContext }] = [this.#principal, this.#access];
    const references = this.#references(sent.message.referenceTaskIds ?? []);
    const came = { ...sent, principal, ...(references.length > 0 && { references }) };
    const command = this.#access.receive?.(came) ?? came;
    return this.#engine.start({
      ...command,
      tenant: this.#tenant,
      mayAnswer: (task) =>
        this.#sees(task) || (this.#isOfTenant(task) && mayAnswer?.(task, principal) === true),
      prepare(task) {
        const isNamed = command.message.contextId !== undefined && !isParked(task.state);
        const refusal = isNamed ? refuseContext?.(task.contextId, principal) : undefined;
        if (refusal !== undefined) throw invalidParams(refusal, 'message.contextId');
        command.prepare?.(task);
      },
    });
  }

  /** Those that there are for this viewer. */
  #references(ids: readonly string[]): Task[] {
    return [...new Set(ids)].slice(0, mostReferences).flatMap((id) => {
      try {
        return [this.get(id)];
      } catch (error) {
        if (error instanceof A2aError && error.reason === 'TASK_NOT_FOUND') return [];
        throw error;
      }
    });
  }

  #sees(task: Task): boolean {
    return this.#isOfTenant(task) && maySee(this.#viewer, task.owner);
  }

  #isOfTenant({ tenant }: Task): boolean {
    return this.#tenant === undefined || tenant === this.#tenant;
  }
}

/** How often work under way asks whether whoever wanted it still may. Other processes change accounts. */
export const accessCheckMs = 15_000;

/** An account that owns something, with the least of roles, as its own is not known. */
export function accountOf(owner = ''): Principal | undefined {
  const [, id] = /^(?:person|operator):(user:.+)$/s.exec(owner) ?? [];
  return id === undefined ? undefined : { kind: 'person', id, via: [], role: 'guest' };
}

/** Why somebody may no longer have done what they asked for, if so. */
export function lostAccess(
  asker: Principal,
  current: (principal: Principal) => Principal,
  logger: { warn(fields: object, message: string): void },
): string | undefined {
  try {
    const isAsBefore = current(asker) === asker;
    return isAsBefore ? undefined : 'Stopped: whoever asked for this has fewer rights now. Ask again.';
  } catch (error) {
    if (isRefusal(error)) return `Stopped: ${errorMessage(error)}`;
    logger.warn({ err: error }, 'failed to check access; retrying');
    return undefined;
  }
}
