import { mkdirSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { waitFor } from '@trunkline/testing';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { type Approvals, startApprovals } from './approval.suite.ts';
import { ask, json, openMode, startAttack } from './attack.suite.ts';

let approvals: Approvals;
beforeAll(async () => {
  approvals = await startApprovals();
});
afterAll(() => approvals.attack.stop());

it.each([
  ['a name with a wildcard', 'm.sh', 'sh m.s?', 'true', 'E'],
  ['a name in a variable', 'n.sh', 'F=n.sh; sh $F', 'true', 'E'],
  ['a name in pieces', 'o.sh', "sh 'o'.sh", 'true', 'E'],
  ['a name that node completes', 'u.js', 'node ./u', '1', 'require("child_process").execSync("E")'],
  ['a script called by the one that was shown', 'inner.sh', 'sh outer.sh', 'true', 'E'],
])(
  'an approval does not hold for a script that changed meanwhile, given as %s',
  async (_, name, call, before, after) => {
    approvals.begin();
    const folder = join(approvals.attack.home, 'agent', 'workspace');
    mkdirSync(folder, { recursive: true });
    writeFileSync(join(folder, 'outer.sh'), 'sh inner.sh');
    writeFileSync(join(folder, name), before);
    const { id } = await approvals.parked(call);
    writeFileSync(join(folder, name), after.replace('E', `echo ran >> ${approvals.marker()}`));
    await approvals.approve(id);
    await waitFor(async () => (await approvals.stateOf(id)) !== 'working');
    expect(approvals.runs()).toBe(0);
  },
);

describe('a conversation of the operator', () => {
  it('is neither read nor continued by nobody known (api/chat, and the default session)', async () => {
    const { attack, url } = approvals;
    const headers = await attack.operator('agent');
    for (const session of [{ session_id: `private-${crypto.randomUUID()}` }, {}]) {
      const [secret, poison] = [`secret-${crypto.randomUUID()}`, `poison-${crypto.randomUUID()}`];
      await json(`${url}/api/chat`, { message: secret, ...session }, headers);
      const before = attack.model.chats().length;
      const { text } = await json(`${url}/api/chat`, { message: poison, ...session });
      expect.soft(text).not.toContain(secret);
      expect.soft(JSON.stringify(attack.model.chats().slice(before))).not.toContain(secret);
      const after = attack.model.chats().length;
      await json(`${url}/api/chat`, { message: 'and now?', ...session }, headers);
      expect.soft(JSON.stringify(attack.model.chats().slice(after))).not.toContain(poison);
    }
  });
  it('is not joined over A2A by its context', async () => {
    const { attack, url } = approvals;
    const secret = `secret-${crypto.randomUUID()}`;
    const contextId = crypto.randomUUID();
    await ask(url, secret, { headers: await attack.operator('agent'), more: { contextId } });
    const before = attack.model.chats().length;
    await ask(url, 'and now?', { more: { contextId } });
    expect(JSON.stringify(attack.model.chats().slice(before))).not.toContain(secret);
  });
});

it('agent.yaml with a secret in it is for the owner alone', async () => {
  const { attack, url } = approvals;
  const { body } = await json<{ text: string }>(
    `${url}/api/config`,
    undefined,
    await attack.operator('agent'),
  );
  const text = `${body.text}\nmcp: { servers: [{ name: web, url: "http://127.0.0.1:9/mcp", headers: { authorization: Bearer sesame }, enabled: false }] }\n`;
  await json(`${url}/api/config`, { text }, await attack.operator('agent'), 'PUT');
  expect((statSync(join(attack.home, 'agent', 'config', 'agent.yaml')).mode & 0o777).toString(8)).toBe('600');
});

it.each([
  ['/api/users/reload', {}],
  ['/api/skills/reload', {}],
  ['/api/delegates/reload', {}],
  ['/api/admin/skills', { user_id: 'default', slug: 'chef' }],
  ['/api/voice/clone', {}],
])('voice without a roster: %s needs the operator', async (path, body) => {
  expect((await json(`${approvals.attack.url('voice')}${path}`, body)).status).toBe(403);
});

it('strangers cannot lock the operator out of signing in', async () => {
  for (let index = 0; index < 60; index += 1)
    await json(`${approvals.url}/operator`, { key: `guess-${index}` });
  const { status } = await json(`${approvals.url}/operator`, { key: approvals.attack.operatorKey() });
  expect(status).toBe(200);
});

it('commands of the switchboard are off until the operator turns them on', async () => {
  const fresh = await startAttack({ env: openMode, files: { 'voice/config/users.yaml': 'users: []' } });
  onTestFinished(() => fresh.stop());
  await ask(fresh.url('switchboard'), 'hello');
  for (const { tools } of fresh.model.chats())
    expect(tools?.map(({ function: { name } }) => name)).not.toContain('run_command');
});
