import { defineOptions, type Environment } from '@trunkline/config';
import { type ApprovalAnswer, answerWords } from '@trunkline/std';
import { z } from 'zod';
import { type AgentApi, askAgent, plainLines, withoutControls } from '../chat/agent-api.ts';
import {
  findService,
  keyFor,
  liveServices,
  operatorHeaders,
  withheldWords,
} from '../operator/operator-headers.ts';
import { agentApi, chatOptions } from './chat.ts';
import { CommandError, defineCommand } from './command.ts';
import { sendOptions } from './send.ts';

const usage = 'trunkline approvals [approve ID [task | always] | deny ID [REASON] | answer ID TEXT]';

const approvalSchema = z.object({
  id: z.string(),
  title: z.string(),
  noun: z.string(),
  shown: z.string(),
  size: z.string(),
  directory: z.string(),
  reason: z.string().optional(),
  files: z.array(z.object({ path: z.string(), sha256: z.string() })),
  asked_by: z.string(),
  asked_at: z.string(),
});
const listSchema = z.object({ approvals: z.array(approvalSchema) });
type Approval = z.output<typeof approvalSchema>;

const questionsSchema = z.object({
  data: z.array(
    z.object({
      requestId: z.string(),
      question: z.string(),
      askedAt: z.number(),
      approval: z.boolean(),
      owner: z.string(),
    }),
  ),
});
type Question = z.output<typeof questionsSchema>['data'][number];

const { agentUrl, agentPort, trunklineHome, authToken } = chatOptions.options;
const options = defineOptions('trunkline approvals', chatOptions.title, {
  agentUrl,
  agentPort,
  trunklineHome,
  authToken,
  apiKey: sendOptions.options.apiKey,
});

/** What waits for a person: an approval of the agent, or a question of an agent of the switchboard. */
interface Waiting {
  id: string;
  /** Only a yes or no counts; else it is answered in words. */
  isApproval: boolean;
  shown: string;
  answer(given: Answer): Promise<unknown>;
}

interface Answer {
  action: 'approve' | 'deny' | 'answer';
  /** How far an approval goes, why it is denied, or the answer. */
  words: string;
}

/** Lists what waits for the operator in the agent and in the switchboard of this home, or answers one of them. */
export const main = defineCommand({
  usage,
  options,
  takesWords: true,
  async run(given, env, words) {
    const [action = 'list', id = '', ...rest] = words;
    if (action === 'list') return await list(await load(given, env));
    const isAnswer = action === 'approve' || action === 'deny' || (action === 'answer' && rest.length > 0);
    if (!isAnswer || id === '') {
      console.error(`Usage: ${usage}`);
      return 2;
    }
    return await answer(await load(given, env), id, { action, words: rest.join(' ') });
  },
});

interface Given {
  agentUrl: string | undefined;
  agentPort: number;
  trunklineHome: string;
  authToken: string | undefined;
  apiKey: string | undefined;
}

async function load(given: Given, env: Environment): Promise<Waiting[]> {
  const { agentUrl: named, agentPort: port, trunklineHome: home, authToken: token, apiKey } = given;
  const live = named === undefined ? await liveServices(home) : [];
  const boards = live.filter(({ name }) => name === 'switchboard');
  const isAgentAway = boards.length > 0 && !live.some(({ name }) => name === 'agent');
  const agent = async () =>
    await approvals(agentApi(await findService('agent', { given: named, port, home }), token, env));
  const asking = [
    ...(isAgentAway ? [] : [agent()]),
    ...boards.map(({ url }) => questions(boardApi(url, home, apiKey, env))),
  ];
  const asked = await Promise.allSettled(asking);
  const refusals = asked.flatMap((each) => (each.status === 'rejected' ? [each.reason] : []));
  // What one service has can be answered while another refuses.
  for (const refusal of refusals) {
    if (refusals.length === asked.length || !(refusal instanceof CommandError)) throw refusal;
    console.error(refusal.message);
  }
  return asked.flatMap((each) => (each.status === 'fulfilled' ? each.value : []));
}

/** The keys go to a switchboard of this home alone. */
function boardApi(url: string, home: string, apiKey: string | undefined, env: Environment): AgentApi {
  const target = { url, isNamed: false, home };
  const key = keyFor(target, apiKey);
  return {
    url,
    name: 'switchboard',
    headers: { ...(key !== undefined && { 'x-api-key': key }), ...operatorHeaders(url, home, env) },
    withheld: key === undefined && apiKey ? withheldWords(target, 'SWITCHBOARD_API_KEY') : undefined,
  };
}

async function list(waiting: readonly Waiting[]): Promise<number> {
  if (waiting.length === 0) console.log('Nothing waits for an approval.');
  for (const { shown } of waiting) console.log(`${shown}\n`);
  if (waiting.some(({ isApproval }) => isApproval))
    console.log('Answer with "npx trunkline approvals approve ID" or "… deny ID REASON".');
  if (waiting.some(({ isApproval }) => !isApproval))
    console.log('Answer a question with "npx trunkline approvals answer ID TEXT".');
  return 0;
}

async function answer(waiting: readonly Waiting[], id: string, given: Answer): Promise<number> {
  const matching = waiting.filter((each) => each.id.startsWith(id));
  const [found] = matching;
  if (found === undefined)
    throw new CommandError(`Nothing waits under ${id}. Run "npx trunkline approvals" for what does.`);
  if (matching.length > 1)
    throw new CommandError(`${id} fits ${matching.length} approvals. Give more of it.`);
  if (found.isApproval === (given.action === 'answer'))
    throw new CommandError(
      found.isApproval
        ? `${id} waits for "approve" or "deny".`
        : `${id} is a question: give "answer ID TEXT".`,
    );
  await found.answer(given);
  console.log(
    `${{ approve: 'Approved', deny: 'Denied', answer: 'Answered' }[given.action]}:\n${found.shown}`,
  );
  return 0;
}

const scopes = ['once', 'task', 'always'] as const;

function approvalAnswer({ action, words }: Answer): ApprovalAnswer {
  if (action === 'approve') return { approve: true, scope: scopes.find((name) => name === words) ?? 'once' };
  return { approve: false, ...(words !== '' && { note: words }) };
}

async function approvals(api: AgentApi): Promise<Waiting[]> {
  const parsed = listSchema.safeParse(await askAgent(api, '/api/approvals'));
  if (!parsed.success) throw new CommandError(`${api.url} is no agent service of this version.`);
  return parsed.data.approvals.map((approval) => ({
    id: approval.id,
    isApproval: true,
    shown: describe(approval),
    answer: (given) =>
      askAgent(api, `/api/approvals/${approval.id}`, { method: 'POST', body: approvalAnswer(given) }),
  }));
}

async function questions(api: AgentApi): Promise<Waiting[]> {
  const parsed = questionsSchema.safeParse(await askAgent(api, '/api/hitl/pending'));
  if (!parsed.success) throw new CommandError(`${api.url} is no switchboard of this version.`);
  return parsed.data.data.map((question) => ({
    id: question.requestId,
    isApproval: question.approval,
    shown: describeQuestion(question),
    answer: (given) => {
      const said = given.action === 'answer' ? given.words : answerWords(approvalAnswer(given));
      const body = { requestId: question.requestId, answer: said };
      return askAgent(api, '/api/a2a/input', { method: 'POST', body });
    },
  }));
}

/** The text of the agent is shown as it was made visible there, so that nothing in it moves the cursor. */
function describe(approval: Approval): string {
  const { id, title, noun, shown, size, directory, reason, files, asked_by, asked_at } = approval;
  return [
    `${id}  asked by ${asked_by} at ${asked_at}`,
    `  ${title} The ${noun} (${size}):`,
    ...shown.split('\n').map((line) => `    ${line}`),
    ...(reason === undefined ? [] : [`  Asked because ${reason}.`]),
    ...(directory === '' ? [] : [`  Directory: ${directory}`]),
    ...files.map(({ path, sha256 }) => `  Runs ${path} (SHA-256 ${sha256.slice(0, 16)}…)`),
  ]
    .map(withoutControls)
    .join('\n');
}

function describeQuestion({ requestId, question, askedAt, owner }: Question): string {
  const lines = plainLines(question)
    .split('\n')
    .map((line) => `    ${line}`);
  const asked = `${requestId}  asked on the switchboard for ${owner} at ${new Date(askedAt).toISOString()}`;
  return [asked, ...lines].map(withoutControls).join('\n');
}
