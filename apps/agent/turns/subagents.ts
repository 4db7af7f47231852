import { defineTool, ModelError, type RunningTool, type Tool, type ToolContext } from '@trunkline/llm';
import {
  runTurn,
  type StepLog,
  type StoredFile,
  type TurnEvent,
  type TurnFiles,
  type TurnLimits,
  type Usage,
} from '@trunkline/loop';
import { ConcurrencyLimiter, errorMessage } from '@trunkline/std';
import { z } from 'zod';
import { type Graph, type Subagent, subagentInstructions, withoutQuestions } from './graph.ts';

export interface SubagentDeps {
  graph: Graph;
  spending: Spending;
  /** Reports everything that a subagent does. */
  onEvent(event: TurnEvent): void;
  /** Of the turn; its helpers go on after a crash as it does. */
  steps?: StepLog | undefined;
  /** Of the turn; what its helpers make belongs to it. */
  files?: TurnFiles | undefined;
}

const maxTasks = 16;
const atOnce = 4;
const order = z.object({
  agent: z.string().describe('Name of the helper.'),
  prompt: z.string().min(1).describe('The whole order: the helper knows nothing of this conversation.'),
});
const orders = z.object({ tasks: z.array(order).min(1).max(maxTasks) });

/** The tools with which the lead agent hands work to its helpers; none when it has no helpers. */
export function subagentTools(deps: SubagentDeps): RunningTool[] {
  if (deps.graph.subagents.length === 0) return [];
  const { subagents, limits, model } = deps.graph;
  const timeoutMs = Math.max(...subagents.map((helper) => limits(model(helper.model)).turnTimeoutMs));
  const task = defineTool({
    name: 'task',
    effects: ['reads'],
    description: 'Hands one piece of work to a helper and gives back its result.',
    input: order,
    timeoutMs,
    execute: ({ agent, prompt }, context) => runSubagent(agent, prompt, context, deps),
  });
  const batch = defineTool({
    name: 'task_batch',
    effects: ['reads'],
    description: `Hands up to ${maxTasks} pieces of work to helpers at once and gives back all results in order.`,
    input: orders,
    timeoutMs,
    execute: async ({ tasks }, context) => {
      const limiter = new ConcurrencyLimiter({ limit: atOnce });
      const results = await Promise.all(
        tasks.map(({ agent, prompt }, index) =>
          limiter.run(() => runSubagent(agent, prompt, withKey(context, index), deps)),
        ),
      );
      return results.map((result, index) => `[${index + 1}] ${tasks[index]?.agent}\n${result}`).join('\n\n');
    },
  });
  return [task, batch] as RunningTool[];
}

/** Each piece of work has steps of its own. */
function withKey(context: ToolContext, index: number): ToolContext {
  const { idempotencyKey } = context;
  return idempotencyKey === undefined
    ? context
    : { ...context, idempotencyKey: `${idempotencyKey}-${index}` };
}

/** Runs one piece of work to its end. A subagent has no way to ask a person and no helpers of its own. */
export async function runSubagent(
  name: string,
  prompt: string,
  context: Omit<ToolContext, 'toolCallId'>,
  deps: SubagentDeps,
): Promise<string> {
  const { graph, steps: log } = deps;
  const { sessionId, signal, principal, scope, timezone, idempotencyKey: turn } = context;
  const { onActivity } = context;
  const subagent = graph.subagents.find((candidate) => candidate.name === name);
  if (subagent === undefined) return `Error: there is no helper named "${name}". ${available(graph)}`;
  try {
    const model = graph.model(subagent.model);
    const { turnTimeoutMs } = graph.limits(model);
    return await finish(
      runTurn({
        model,
        instructions: subagentInstructions(subagent),
        tools: toolsFor(subagent, graph.tools),
        limits: { ...deps.spending.limits, steps: subagent.steps, turnTimeoutMs },
        sessionId: `${sessionId}/${name}`,
        principal,
        scope,
        timezone,
        policy: graph.policy,
        signal,
        onActivity,
        cost: graph.cost,
        files: deps.files,
        steps: log && turn !== undefined ? { log, turn, resumes: true } : undefined,
        messages: [{ role: 'user', content: prompt }],
      }),
      deps,
      context,
    );
  } catch (error) {
    if (!(error instanceof ModelError)) throw error;
    return `Error: ${error.message}`;
  }
}

async function finish(
  events: AsyncIterable<TurnEvent>,
  deps: SubagentDeps,
  { addOrigins, attach }: Pick<ToolContext, 'addOrigins' | 'attach'>,
): Promise<string> {
  let result = 'Error: the helper ended without a result.';
  const made: StoredFile[] = [];
  for await (const event of events) {
    deps.onEvent(event);
    if ('file' in event) made.push(event.file);
    if (event.type === 'tool-end') made.push(...(event.files ?? []));
    if (event.type !== 'end' && event.type !== 'error') continue;
    deps.spending.addHelper(event.usage);
    addOrigins?.(event.origins ?? []);
    const nothing = made.length === 0 ? 'Error: the helper said nothing.' : '';
    result = event.type === 'error' ? `Error: ${event.message}` : event.text || nothing;
  }
  const given = await handOver(made, deps, attach);
  return [result, ...given].filter((words) => words !== '').join('\n');
}

/** Gives the files of a helper to whoever asked the lead agent; in words, what became of each. */
async function handOver(
  made: readonly StoredFile[],
  { files }: SubagentDeps,
  attach: ToolContext['attach'],
): Promise<string[]> {
  const notes: string[] = [];
  for (const { id, name, mediaType } of new Map(made.map((file) => [file.id, file])).values()) {
    const bytes = await files?.read(id);
    try {
      if (bytes === undefined || attach === undefined) throw new Error('nobody takes it, or it is gone');
      await attach({ name, mediaType, bytes });
      notes.push(`(The person was given ${name}.)`);
    } catch (error) {
      // Such as a full quota: what the helper said stays.
      notes.push(`(${name} could not be handed on: ${errorMessage(error)}. Say so.)`);
    }
  }
  return notes;
}

function toolsFor(subagent: Subagent, tools: readonly Tool[]): Tool[] {
  const mayHave = ({ name }: { name: string }) =>
    subagent.tools === undefined || subagent.tools.includes(name);
  return withoutQuestions(tools).filter(mayHave);
}

function available({ subagents }: Graph): string {
  return `There are: ${subagents.map(({ name }) => name).join(', ')}.`;
}

/** What a turn and its helpers have used up so far, so that one budget holds for all of them. */
export class Spending {
  readonly #limits: TurnLimits;
  #helpers: Usage & { costUsd: number } = { inputTokens: 0, outputTokens: 0, totalTokens: 0, costUsd: 0 };

  constructor(limits: TurnLimits) {
    this.#limits = limits;
  }

  /** The limits of the turn itself: what its helpers used is no longer there for it. */
  get limits(): TurnLimits {
    const { steps, toolTimeoutMs, turnTimeoutMs, tokens, costUsd } = this.#limits;
    const helpers = () => this.#helpers;
    return {
      steps,
      toolTimeoutMs,
      turnTimeoutMs,
      get tokens() {
        return (tokens ?? Number.POSITIVE_INFINITY) - helpers().totalTokens;
      },
      get costUsd() {
        return (costUsd ?? Number.POSITIVE_INFINITY) - helpers().costUsd;
      },
    };
  }

  /** What helpers used in all. */
  get helpers(): Usage {
    return { ...this.#helpers };
  }

  addHelper(usage: Usage): void {
    const {
      inputTokens,
      outputTokens,
      totalTokens,
      knownCostUsd = 0,
      costUsd = knownCostUsd,
      estimated,
    } = usage;
    this.#helpers = {
      inputTokens: this.#helpers.inputTokens + inputTokens,
      outputTokens: this.#helpers.outputTokens + outputTokens,
      totalTokens: this.#helpers.totalTokens + totalTokens,
      costUsd: this.#helpers.costUsd + costUsd,
      ...((this.#helpers.estimated || estimated) && { estimated: true }),
    };
  }
}
