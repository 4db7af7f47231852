import { clausesOf, stagesOf } from './clauses.ts';
import { compose } from './compose.ts';
import { callOf } from './fit.ts';
import { type Marked, markOutrightCalls, takeMarks } from './intents/outright.ts';
import { recognise } from './intents/table.ts';
import type { DemoRequest } from './request.ts';
import { fillSchema } from './schema.ts';
import { introduction, plainAnswer, talk } from './talk.ts';
import { workOnText } from './tasks.ts';
import { trimPhrase } from './text.ts';
import type { Call, Outcome, Situation } from './types.ts';

/** What the model does in one step: call tools, or speak. */
export interface Reply {
  calls: Call[];
  text: string;
}

/** Wishes of one stage of a message: calls to make and things to say. */
interface Plan {
  calls: Call[];
  remarks: string[];
}

const questionTools = new Set(['ask_human', 'askClarification', 'request_user_input']);

export function decide(request: DemoRequest, now: Date): Reply {
  if (request.format?.type === 'json') return speak(jsonAnswer(request));
  const worked = request.steps.length === 0 ? workOnText(request) : undefined;
  if (worked !== undefined) return speak(request.tools.size === 0 ? worked : introduced(worked, request));
  const plans = plansOf(request, now);
  const stage = plans.filter(({ calls }) => calls.length > 0)[request.steps.length];
  const isUnderstood = plans.some((plan) => plan.calls.length + plan.remarks.length > 0);
  const calls =
    stage?.calls ??
    followUp(request, now) ??
    forced(request) ??
    (isUnderstood ? undefined : searchForIt(request));
  if (calls !== undefined) return { calls, text: '' };
  const said = [
    ...(request.steps.flat().length > 0 ? [compose(request.steps.flat())] : []),
    ...plans.flatMap(({ remarks }) => remarks),
  ];
  return speak(introduced(said.length > 0 ? said.join(' ') : talk(request), request));
}

function speak(text: string): Reply {
  return { calls: [], text };
}

function introduced(text: string, { spoken }: DemoRequest): string {
  return spoken.includes(introduction) ? text : `${text}\n\n${introduction}`;
}

function jsonAnswer({ format, userText }: DemoRequest): string {
  const schema = format?.type === 'json' ? format.schema : undefined;
  const standard = { type: 'object', properties: { text: { type: 'string' } } } as const;
  return JSON.stringify(fillSchema(schema ?? standard, { name: '', text: userText }));
}

function plansOf(request: DemoRequest, now: Date): Plan[] {
  const marked = markOutrightCalls(request.userText, request.tools);
  const situation = { tools: request.tools, now, previous: previousResult(request.steps) };
  return stagesOf(marked.text).map((stage) => planOf(stage, marked, situation));
}

function planOf(stage: string, marked: Marked, situation: Situation): Plan {
  const { wishes, rest } = takeMarks(stage, marked);
  const clauses = clausesOf(rest, (clause) => recognise(clause, situation) !== undefined);
  const found: (Call | string)[] = [...wishes, ...clauses.flatMap((clause) => wishesOf(clause, situation))];
  return {
    calls: distinct(found.filter((wish) => typeof wish !== 'string')),
    remarks: found.filter((wish) => typeof wish === 'string'),
  };
}

function wishesOf(clause: string, situation: Situation): (Call | string)[] {
  const found = recognise(clause, situation) ?? [];
  return typeof found === 'string' ? [found] : found;
}

function distinct(calls: Call[]): Call[] {
  return [...new Map(calls.map((call) => [JSON.stringify(call), call])).values()];
}

function previousResult(steps: Outcome[][]): string {
  return (
    steps
      .at(-1)
      ?.map(({ result }) => result)
      .join('\n') ?? ''
  );
}

/** An answered question may complete the wish: "remind me to stretch" and "in 5 minutes". */
function followUp({ steps, tools, userText }: DemoRequest, now: Date): Call[] | undefined {
  const answers = steps.at(-1)?.filter(({ tool }) => questionTools.has(tool)) ?? [];
  if (answers.length === 0) return undefined;
  const wish = `${userText.trim()} ${answers.map(({ result }) => result).join(' ')}`;
  const found = recognise(wish, { tools, now, previous: '' });
  return Array.isArray(found) && found.every(({ tool }) => !questionTools.has(tool)) ? found : undefined;
}

/** The call that the request insists on, when no wish led to one. */
function forced({ choice, steps, tools, userText }: DemoRequest): Call[] | undefined {
  if (steps.length > 0) return undefined;
  const name =
    choice.type === 'tool' ? choice.toolName : choice.type === 'required' ? [...tools.keys()][0] : undefined;
  const tool = name === undefined ? undefined : tools.get(name);
  return tool === undefined ? undefined : [callOf(tool, {}, userText)];
}

/** In a chat that is there for searching, words that mean nothing else are what to search for. */
function searchForIt(request: DemoRequest): Call[] | undefined {
  const tool = request.tools.get('searchWeb');
  const query = trimPhrase(request.userText);
  if (tool === undefined || query === '' || request.steps.length > 0) return undefined;
  return plainAnswer(request) === undefined ? [callOf(tool, { query })] : undefined;
}
