import { z } from 'zod';
import { type AgentApi, askAgent, withoutControls } from '../chat/agent-api.ts';
import { findService } from '../operator/operator-headers.ts';
import { agentApi, chatOptions } from './chat.ts';
import { CommandError, defineCommand } from './command.ts';

const usage = 'trunkline approvals [approve ID [task | always] | deny ID [REASON]]';

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

/** Lists what waits for the operator's approval, or answers one of them. */
export const main = defineCommand({
  usage,
  options: chatOptions,
  takesWords: true,
  async run({ agentPort: port, agentUrl: given, authToken, trunklineHome: home }, env, words) {
    const api = agentApi(await findService('agent', { given, port, home }), authToken, env);
    const [action = 'list', id = '', ...reason] = words;
    if (action === 'list') return await list(api);
    if ((action === 'approve' || action === 'deny') && id !== '')
      return await answer(api, { id, approve: action === 'approve', words: reason.join(' ') });
    console.error(`Usage: ${usage}`);
    return 2;
  },
});

const scopes = ['once', 'task', 'always'];

async function list(api: AgentApi): Promise<number> {
  const waiting = await load(api);
  if (waiting.length === 0) console.log('Nothing waits for an approval.');
  for (const approval of waiting) console.log(`${describe(approval)}\n`);
  if (waiting.length > 0) console.log('Answer with "trunkline approvals approve ID" or "… deny ID REASON".');
  return 0;
}

interface Answer {
  id: string;
  approve: boolean;
  /** How far an approval goes, or why it is denied. */
  words: string;
}

async function answer(api: AgentApi, { id, approve, words }: Answer): Promise<number> {
  const matching = (await load(api)).filter((approval) => approval.id.startsWith(id));
  const [found] = matching;
  if (found === undefined)
    throw new CommandError(`Nothing waits under ${id}. Run "trunkline approvals" for what does.`);
  if (matching.length > 1)
    throw new CommandError(`${id} fits ${matching.length} approvals. Give more of it.`);
  const scope = scopes.find((name) => name === words) ?? 'once';
  const body = approve ? { approve, scope } : { approve, ...(words !== '' && { note: words }) };
  await askAgent(api, `/api/approvals/${found.id}`, { method: 'POST', body });
  console.log(`${approve ? 'Approved' : 'Denied'}:\n${describe(found)}`);
  return 0;
}

async function load(api: AgentApi): Promise<Approval[]> {
  const parsed = listSchema.safeParse(await askAgent(api, '/api/approvals'));
  if (!parsed.success) throw new CommandError(`${api.url} is no agent service of this version.`);
  return parsed.data.approvals;
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
