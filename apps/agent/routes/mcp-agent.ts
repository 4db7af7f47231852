import { requireStored, type Task, type TaskEngine, textOf, toolCallMediaType } from '@trunkline/a2a';
import { anonymous, isDirectAccount, type Principal } from '@trunkline/identity';
import {
  defineServedTool,
  type ServedQuestion,
  type ServedResult,
  type ServedToolContext,
} from '@trunkline/mcp';
import { z } from 'zod';
import { actingFor } from '../approvals/approvals.ts';
import { knownArtifacts, taskAnswer } from '../turns/converse.ts';

export interface AskAgentDeps {
  engine: TaskEngine;
}

/** Turns of one call: a question of the agent, its answer, and so on. */
const MAX_QUESTIONS = 20;
const DAY_MS = 24 * 3_600_000;

/** The agent as a tool: a whole turn, with its progress, and with its questions where the client can show them. */
export function askAgentTool({ engine }: AskAgentDeps) {
  return defineServedTool({
    name: 'ask_agent',
    description:
      'Gives the agent a task in plain words and returns its answer. It has tools, memory and skills of its own. Name the conversation of an earlier answer to go on with it.',
    input: z.object({
      message: z.string().trim().min(1).max(200_000),
      conversation: z.string().min(1).max(500).optional().describe('As an earlier result named it.'),
      task: z.string().max(200).optional().describe('The task whose question the message answers.'),
    }),
    effects: ['reads'],
    startsWork: true,
    external: true,
    // The turn has limits of its own, those of its model: this one only ends a call that they did not end.
    timeoutMs: DAY_MS,
    // The answer stands in the conversation.
    survivesDisconnect: true,
    isLong: true,
    async execute({ message, conversation, task }, context): Promise<ServedResult> {
      const { principal = anonymous } = context;
      const contextId = conversation ?? `mcp-${crypto.randomUUID()}`;
      const asked = actingFor(principal, 'mcp');
      // The answer to a form is the person's own only at the operator's own client: any program may have got an account's token.
      const answering = isDirectAccount(principal) ? asked : principal;
      // A model wrote the arguments, so they approve nothing.
      const known = knownArtifacts(engine, task);
      let said: Said = { text: message, contextId, taskId: task, principal: asked };
      for (let turns = 0; ; turns += 1) {
        const settled = await take(engine, said, context);
        const isAskable =
          settled.state === 'input-required' && (answering !== asked || !waitsForApproval(settled));
        const answer = isAskable ? await answerOf(settled, context) : undefined;
        if (answer === undefined || turns === MAX_QUESTIONS) return resultOf(settled, known);
        said = { text: answer, contextId: settled.contextId, taskId: settled.id, principal: answering };
      }
    },
    // The handle is the task of the agent, which goes on by itself. A question then comes as the result.
    resume: async (handle, call) => resultOf(await follow(engine, engine.find(handle), call)),
  });
}

interface Said {
  text: string;
  contextId: string;
  taskId: string | undefined;
  /** Whose words they are. */
  principal: Principal;
}

/** Runs the task until it ends or asks, and tells what it does meanwhile. */
async function take(
  engine: TaskEngine,
  { text, contextId, taskId, principal }: Said,
  context: ServedToolContext,
): Promise<Task> {
  context.signal.throwIfAborted();
  const tasks = engine.for(principal);
  const parts = [{ type: 'text' as const, text }];
  const message = {
    messageId: crypto.randomUUID(),
    role: 'user' as const,
    parts,
    contextId,
    ...(taskId !== undefined && { taskId }),
  };
  const { live, stored } = tasks.start({
    message,
    metadata: { channel: 'mcp' },
    strict: taskId !== undefined,
  });
  // Before anything is waited for: the turn runs already.
  return await follow(engine, live, context, async () => {
    await requireStored(stored);
    context.setResumeHandle?.(live.id);
  });
}

/** Waits until the task ends or asks, tells what it does, and cancels it with the call. */
async function follow(
  engine: TaskEngine,
  live: ReturnType<TaskEngine['find']>,
  { signal, progress }: Pick<ServedToolContext, 'signal' | 'progress'>,
  started?: () => Promise<void>,
): Promise<Task> {
  let step = 0;
  const stop = live.subscribe(({ event }) => {
    const words = event.type === 'artifact' ? toolWords(event.artifact.parts) : undefined;
    // A client that has gone hears nothing; the turn goes on.
    if (words !== undefined) void progress(++step, words).catch(() => undefined);
  });
  const cancel = () => void engine.cancel(live.id, false);
  signal.addEventListener('abort', cancel, { once: true });
  try {
    await started?.();
    if (signal.aborted) cancel();
    await live.settled();
    return live.snapshot();
  } finally {
    stop();
    signal.removeEventListener('abort', cancel);
  }
}

function toolWords(parts: Task['artifacts'][number]['parts']): string | undefined {
  const [part] = parts;
  if (part?.type !== 'data' || part.metadata?.mimeType !== toolCallMediaType) return undefined;
  const { name, phase } = part.data as { name?: string; phase?: string };
  return phase === 'started' ? `Using ${name}` : undefined;
}

/** Asks the person at the client; undefined where nobody answers there. */
async function answerOf(task: Task, { ask, signal }: ServedToolContext): Promise<string | undefined> {
  if (ask === undefined) return undefined;
  const { questions, read } = formsIn(task);
  const answers: Record<string, unknown>[] = [];
  for (const question of questions) {
    const answer = await ask(question satisfies ServedQuestion).catch((error: unknown) => {
      // The task still waits, and its id must reach the client.
      if (signal.aborted) throw error;
      return undefined;
    });
    if (answer === undefined) return undefined;
    answers.push(answer);
  }
  return read(answers);
}

function resultOf(task: Task, known: ReadonlySet<string> = new Set()): ServedResult {
  const { id, contextId, state } = task;
  const { text: said, files } = taskAnswer({ task, known });
  const more = { meta: { task: id, conversation: contextId, state }, ...(files.length > 0 && { files }) };
  if (state === 'completed') return { text: `${said}\n\n(conversation: ${contextId})`, ...more };
  if (waitsForApproval(task))
    return {
      text: `The agent waits for an approval: ${said}\n\nA person has to give it there; answers by ask_agent do not count. Afterwards ask in conversation ${contextId} what came of it (task ${id}).`,
      ...more,
    };
  if (state === 'input-required')
    return {
      text: `The agent asks: ${said}\n\nAnswer with ask_agent, conversation ${contextId}, task ${id}.`,
      ...more,
    };
  const why = said || (task.statusMessage === undefined ? state : textOf(task.statusMessage.parts));
  return { text: `Error: the agent did not finish: ${why}`, failed: true, ...more };
}

/** The forms for a question of the agent, and how their answers are told to it. */
interface Forms {
  questions: ServedQuestion[];
  read(answers: readonly Record<string, unknown>[]): string;
}

interface Step {
  title?: string;
  schema?: { properties?: Record<string, { type?: string }>; required?: string[] };
}

const MAX_MESSAGE = 4000;
const simple = new Set(['string', 'number', 'integer', 'boolean']);

/** The protocol's forms have fields of simple types alone: what is more becomes a line of text. */
function formsIn(task: Task): Forms {
  const text = task.statusMessage === undefined ? '' : textOf(task.statusMessage.parts);
  const message = text.slice(0, MAX_MESSAGE);
  const schema = schemaOf(task);
  if (schema.approval !== undefined) return approvalForm(message);
  const steps = schema.steps ?? [];
  if (steps.length === 0 || !steps.every(isSimple)) return lineForm(message);
  return {
    questions: steps.map(({ title, schema: fields = {} }) => ({
      message: [message, title].filter(Boolean).join('\n'),
      schema: { type: 'object', properties: fields.properties ?? {}, required: fields.required ?? [] },
    })),
    read: (answers) => JSON.stringify(Object.assign({}, ...answers)),
  };
}

/** Whether a task waits for an approval, which only a person can give. */
function waitsForApproval(task: Task): boolean {
  return task.state === 'input-required' && schemaOf(task).approval !== undefined;
}

function approvalForm(message: string): Forms {
  const answer = { type: 'string', title: 'Your answer', enum: ['yes', 'yes for this task', 'no'] };
  return {
    questions: [{ message, schema: { type: 'object', properties: { answer }, required: ['answer'] } }],
    read: ([given]) => String(given?.answer ?? 'no'),
  };
}

function lineForm(message: string): Forms {
  const answer = { type: 'string', title: 'Your answer' };
  return {
    questions: [{ message, schema: { type: 'object', properties: { answer }, required: ['answer'] } }],
    read: ([given]) => String(given?.answer ?? ''),
  };
}

function isSimple({ schema }: Step): boolean {
  return Object.values(schema?.properties ?? {}).every(({ type = '' }) => simple.has(type));
}

function schemaOf({ statusMessage }: Task): { approval?: unknown; steps?: Step[] } {
  const data = statusMessage?.parts.find((part) => part.type === 'data')?.data as
    | { schema?: { approval?: unknown; steps?: Step[] } | null }
    | undefined;
  return data?.schema ?? {};
}
