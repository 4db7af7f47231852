import { defineTool, ModelError, type RunningTool, type Tool, type ToolContext } from '@trunkline/llm';
import { runTurn, type StepLog, type TurnEvent, type TurnLimits, type Usage } from '@trunkline/loop';
import { ConcurrencyLimiter } from '@trunkline/std';
import { z } from 'zod';
import { type Graph, type Subagent, subagentInstructions, withoutQuestions } from './graph.ts';

export interface SubagentDeps {
  graph: Graph;
  spending: Spending;
  /** Reports everything that a subagent does. */
  onEvent(event: TurnEvent): void;
  /** Of the turn; its helpers go on after a crash as it does. */
  steps?: StepLog | undefined;
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
  const timeoutMs = deps.graph.limits.turnTimeoutMs;
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
  const { sessionId, signal, principal, scope, timezone, addOrigins, idempotencyKey: turn } = context;
  const { onActivity } = context;
  const subagent = graph.subagents.find((candidate) => candidate.name === name);
  if (subagent === undefined) return `Error: there is no helper named "${name}". ${available(graph)}`;
  try {
    return await finish(
      runTurn({
        model: graph.model(subagent.model),
        instructions: subagentInstructions(subagent),
        tools: toolsFor(subagent, graph.tools),
        limits: { ...deps.spending.limits, steps: subagent.steps },
        sessionId: `${sessionId}/${name}`,
        principal,
        scope,
        timezone,
        policy: graph.policy,
        signal,
        onActivity,
        cost: graph.cost,
        steps: log && turn !== undefined ? { log, turn, resumes: true } : undefined,
        messages: [{ role: 'user', content: prompt }],
      }),
      deps,
      addOrigins,
    );
  } catch (error) {
    if (!(error instanceof ModelError)) throw error;
    return `Error: ${error.message}`;
  }
}

async function finish(
  events: AsyncIterable<TurnEvent>,
  deps: SubagentDeps,
  addOrigins: ToolContext['addOrigins'],
): Promise<string> {
  let result = 'Error: the helper ended without a result.';
  for await (const event of events) {
    deps.onEvent(event);
    if (event.type !== 'end' && event.type !== 'error') continue;
    deps.spending.addHelper(event.usage);
    addOrigins?.(event.origins ?? []);
    result =
      event.type === 'error' ? `Error: ${event.message}` : event.text || 'Error: the helper said nothing.';
  }
  return result;
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
