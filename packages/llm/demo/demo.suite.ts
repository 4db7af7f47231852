import type { JSONSchema7, LanguageModelV4CallOptions } from '@ai-sdk/provider';
import { generateText, jsonSchema, type ModelMessage, type ToolSet } from 'ai';
import { createDemoModel } from './model.ts';

const clock = () => new Date('2026-03-04T10:00:00Z');

/** The tools the agent service offers, by name, with their parameters; `!` marks a required one. */
const parameters: Record<string, string> = {
  current_time: 'timezone',
  calculator: 'expression!',
  look_up: 'query!',
  web_search: 'query! max_results',
  fetch_url: 'url! max_chars',
  ask_human: 'question!',
  request_user_input: 'title! steps! description',
  notes_list: '',
  notes_read: 'tab',
  notes_write: 'tab! content! mode',
  notes_revert: 'tab! steps',
  memory_ingest: 'content! domain heading',
  memory_recall: 'query! k',
  memory_list: 'domain limit',
  memory_stats: '',
  daily_log: 'content!',
  schedule_task: 'prompt! when! timezone job_id',
  list_schedules: '',
  cancel_schedule: 'job_id!',
  beads_create: 'title! description priority issue_type',
  beads_list: 'include_closed',
  beads_update: 'issue_id! status title description priority',
  beads_close: 'issue_id! reason',
  check_inbox: 'priority_floor limit',
  set_goal: 'condition!',
  searchWeb: 'query! categories',
  searchEncyclopedia: 'query!',
  askClarification: 'question!',
  get_projects: '',
  get_incidents: 'all',
  report_incident: 'title! severity description',
  run_ceremony: 'name!',
  code_with: 'agent! task!',
  run_command: 'command!',
};

export const everyTool = Object.keys(parameters).filter(
  (name) => !/^(?:search|ask[A-Z]|code_with|run_command)/.test(name),
);

export function schemaOf(name: string): JSONSchema7 {
  if (name === 'delegate_to') return delegateSchema;
  const names = (parameters[name] ?? '').split(' ').filter(Boolean);
  return {
    type: 'object',
    properties: Object.fromEntries(names.map((parameter) => [parameter.replace('!', ''), {}])),
    required: names.filter((parameter) => parameter.endsWith('!')).map((parameter) => parameter.slice(0, -1)),
    additionalProperties: false,
  };
}

const delegateSchema: JSONSchema7 = {
  type: 'object',
  properties: { target: { type: 'string', enum: ['research', 'coder'] }, query: { type: 'string' } },
  required: ['target', 'query'],
};

interface Exchange {
  tools?: string[];
  system?: string;
  messages: ModelMessage[];
}

/** One step of the demo model: the calls it makes and the words it says. */
export async function step({ tools = [...everyTool, 'delegate_to'], system, messages }: Exchange) {
  const offered: ToolSet = Object.fromEntries(
    tools.map((name) => [name, { inputSchema: jsonSchema(schemaOf(name)) }]),
  );
  const result = await generateText({
    model: createDemoModel({ now: clock }),
    tools: offered,
    messages,
    ...(system === undefined ? {} : { instructions: system }),
  });
  const calls = result.toolCalls.map(({ toolName, input }) => ({
    tool: toolName,
    input: input as Record<string, unknown>,
  }));
  return { calls, text: result.text, messages: [...messages, ...result.responseMessages] };
}

export async function ask(text: string, tools?: string[]) {
  return step({ messages: [{ role: 'user', content: text }], ...(tools === undefined ? {} : { tools }) });
}

type Turn = Awaited<ReturnType<typeof step>>;

/** Answers the calls of a step and lets the model go on. */
export async function answer(turn: Turn, results: string[], tools?: string[]): Promise<Turn> {
  const asked = turn.messages.at(-1);
  const parts =
    asked?.role === 'assistant' && Array.isArray(asked.content)
      ? asked.content.filter((part) => part.type === 'tool-call')
      : [];
  const content = parts.map((part, index) => ({
    type: 'tool-result' as const,
    toolCallId: part.toolCallId,
    toolName: part.toolName,
    output: { type: 'text' as const, value: results[index] ?? '' },
  }));
  return step({
    messages: [...turn.messages, { role: 'tool', content }],
    ...(tools === undefined ? {} : { tools }),
  });
}

export function callOptions(
  text: string,
  more: Partial<LanguageModelV4CallOptions> = {},
): LanguageModelV4CallOptions {
  return { prompt: [{ role: 'user', content: [{ type: 'text', text }] }], ...more };
}
