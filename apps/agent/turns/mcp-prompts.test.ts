import type { Principal } from '@trunkline/identity';
import type { TurnFiles } from '@trunkline/loop';
import type { McpClients } from '@trunkline/mcp';
import { decideByDefault, type PolicyDecision } from '@trunkline/policy';
import { expect, it } from 'vitest';
import { promptOpener } from './mcp-prompts.ts';

const member: Principal = { kind: 'person', id: 'user:ava', via: [], role: 'member' };
const guest: Principal = { kind: 'person', id: 'mail:eve', via: [], role: 'guest' };
const origins = [{ kind: 'message', source: 'eve' }];

/** An opener with one server that has one prompt, and what was asked of the server and recorded. */
function open(decide: (...given: Parameters<typeof decideByDefault>) => PolicyDecision = decideByDefault) {
  const asked: unknown[] = [];
  const recorded: unknown[] = [];
  const client = {
    async prompts() {
      asked.push('list');
      return [{ name: 'review', arguments: [{ name: 'repo', required: true }] }];
    },
    async prompt(name: string, given: object) {
      asked.push([name, given]);
      return { text: 'Private data.', files: [] };
    },
  };
  const mcp = { get: (name: string) => (name === 'github' ? client : undefined) } as unknown as McpClients;
  const record = ({ request: { tool }, result }: { request: { tool: string }; result: string }) =>
    void recorded.push([tool, result]);
  const opener = promptOpener(mcp, { agent: 'agent', decide, record });
  const say = (text: string, principal: Principal) =>
    opener({ text, principal, sessionId: 's', signal: new AbortController().signal }, {} as TurnFiles);
  return { asked, recorded, say };
}

it('reads a prompt for members, and records it', async () => {
  const { asked, recorded, say } = open();
  const read = await say('/github:review repo=mine', member);
  expect(JSON.stringify(read)).toContain('Private data.');
  expect(asked).toEqual(['list', ['review', { repo: 'mine' }]]);
  expect(recorded).toEqual([['github_prompt', 'started']]);
});

it.each([
  ['a guest', guest],
  ['text from outside', { ...member, origins }],
])('is no command in the words of %s', async (_, principal) => {
  const { asked, recorded, say } = open();
  expect(await say('/github:review repo=secret', principal)).toEqual([]);
  expect(await say('/github:unknown', principal)).toEqual([]);
  expect(asked).toEqual([]);
  expect(recorded).toContainEqual(['github_prompt', 'refused']);
});

it('is refused where a rule says so', async () => {
  const { asked, say } = open(() => ({ decision: 'deny', rule: 'rules[0]', why: 'not here' }));
  await expect(say('/github:review repo=mine', member)).rejects.toThrow(
    'The prompt of the MCP server github was not read: not here.',
  );
  expect(asked).toEqual([]);
});
