import { chmodSync, mkdirSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { AuditLog, auditFile } from '@trunkline/audit';
import { startChild, temporaryHome } from '@trunkline/testing';
import { expect, it, onTestFinished } from 'vitest';

const launcher = join(import.meta.dirname, '../../../bin/trunkline.js');

function start() {
  const home = temporaryHome();
  onTestFinished(home.remove);
  const directory = home.environment.TRUNKLINE_HOME ?? home.path;
  const audit = async (words: string[] = [], environment: Record<string, string> = {}) => {
    const child = startChild(launcher, {
      arguments: ['audit', ...words],
      directory: home.path,
      environment: { ...home.environment, TRUNKLINE_OPEN: '0', ...environment },
    });
    onTestFinished(async () => void (await child.kill()));
    const { code } = await child.exited;
    return { code, output: child.output() };
  };
  return { home: directory, workingDirectory: home.path, audit };
}

it('finds nothing wrong on a fresh machine', async () => {
  const { audit, home } = start();
  mkdirSync(home, { recursive: true });
  chmodSync(home, 0o700);
  const { code, output } = await audit();
  // A developer's tree may hold packages that the lock file does not name.
  expect(output.replace(/^note +packages .*\n.*\n/m, '')).not.toMatch(/^(FAILED|note)/m);
  expect(code).toBe(0);
});

it('finds what is exposed, weak, readable or written down, and mends the modes', async () => {
  const { audit, home, workingDirectory } = start();
  mkdirSync(join(home, 'agent'), { recursive: true });
  const notes = join(home, 'agent', 'notes.md');
  writeFileSync(notes, `deploy with ghp_${'a1B2'.repeat(9)}\n`, { mode: 0o644 });
  chmodSync(home, 0o755);
  writeFileSync(join(workingDirectory, '.env'), 'SWITCHBOARD_API_KEY=hunter2\n', { mode: 0o644 });
  const workspace = join(home, 'switchboard/workspace');
  mkdirSync(workspace, { recursive: true });
  writeFileSync(
    join(workspace, 'agents.yaml'),
    'agents: [{ name: scout, url: http://127.0.0.1:9 }, { name: known, url: http://127.0.0.1:9, skills: [look] }]\n',
  );
  writeFileSync(join(workspace, 'approvers.yaml'), 'approvers: [chat:4711]\n');
  mkdirSync(join(home, 'agent/config'));
  writeFileSync(
    join(home, 'agent/config/agent.yaml'),
    `approvals: { approvers: ["chat:12"] }
mcp: { servers: [{ name: notes, command: notes, trusted: true, sandbox: off }, { name: off, command: x, trusted: true, enabled: false }, { name: gulls, command: gulls }, { name: terns, command: terns }] }
coding_agents: [{ name: builder, command: build }, { name: careful, command: build, confirm: true, sandbox: { network: open } }]
`,
  );
  writeFileSync(
    join(home, 'policy.yaml'),
    'rules: [{ tool: write_file, decision: allow }]\ndescriptions: { mcp-description terns: [HASH] }\n'.replace(
      'HASH',
      'a'.repeat(64),
    ),
  );
  mkdirSync(join(workspace, 'mcp-servers.d'));
  writeFileSync(
    join(workspace, 'mcp-servers.d/sums.yaml'),
    'name: sums\ntrust: builtin\ntransport: stdio\ncommand: sums\n',
  );
  writeFileSync(join(workspace, 'keys.yaml'), 'keys: [{ name: ci, envKey: CI_KEY }]\n');
  mkdirSync(join(home, 'voice/config'), { recursive: true });
  writeFileSync(join(home, 'voice/config/users.yaml'), 'users: [{ id: ann, api_key: annann }]\n');
  const { code, output } = await audit([], {
    RESEARCH_HOST: '0.0.0.0',
    RESEARCH_GRPC_PORT: '50051',
    CORE_HOST: '0.0.0.0',
    VOICE_HOST: '0.0.0.0',
    TRANSLATOR_PORT: '8093',
    A2A_AUTH_TOKEN: 'long-enough-to-be-0123456789',
    TRACKER_WEBHOOK_SECRET: 'short',
    SWITCHBOARD_SHELL: 'on',
    TRUNKLINE_SANDBOX_HOSTS: '*',
    CI_KEY: 'ci-key',
  });
  for (const line of [
    /^note +policy +policy\.yaml allows with any arguments, .*write_file \(rule 1\)/m,
    /^note +descriptions +nobody has accepted .*: gulls \(agent\.yaml\), scout \(agents\.yaml\)\.$/m,
    /^note +commands +SWITCHBOARD_SHELL=on/m,
    /^note +commands +TRUNKLINE_SANDBOX_HOSTS=\*/m,
    /^note +coding agents +start work without asking: builder \(agent\.yaml\)\.$/m,
    /^note +MCP servers .*: notes \(agent\.yaml\), sums \(mcp-servers\.d\/sums\.yaml\)\.$/m,
    /^note +sandbox .*\(sandbox: off\): notes \(agent\.yaml\)\.$/m,
    /^note +sandbox .*\(network: open\): careful \(agent\.yaml\)\.$/m,
    /^FAILED +keys +the key of ci in keys\.yaml can be guessed/m,
    /^FAILED +keys +the key of ann in users\.yaml can be guessed/m,
    /^FAILED +keys +TRACKER_WEBHOOK_SECRET can be guessed/m,
    /^note +gRPC of research is open +it listens on 0\.0\.0\.0/m,
    /^ok +reachable services .*with a key: agent on 0\.0\.0\.0 \(A2A_AUTH_TOKEN\)/m,
    /^ok +reachable services .*, speech translator on 0\.0\.0\.0 \(users\.yaml\)/m,
  ])
    expect(output).toMatch(line);
  expect(output).not.toMatch(/annann|ci-key|long-enough/);
  expect(output).toMatch(
    /^note +approvers .*no account: chat:12 \(agent\.yaml\), chat:4711 \(approvers\.yaml\)/m,
  );
  expect(code).toBe(1);
  expect(output).toMatch(/^FAILED +keys +SWITCHBOARD_API_KEY can be guessed/m);
  expect(output).toMatch(/^note +research is open +it listens on 0\.0\.0\.0/m);
  expect(output).toMatch(/^note +data directory +other accounts/m);
  expect(output).toMatch(/^note +\.env +other accounts/m);
  expect(output).toMatch(/^note +secrets in files .*notes\.md/m);
  expect(output).not.toMatch(/hunter2|ghp_/);

  const mended = await audit(['--fix']);
  expect(mended.output).toMatch(/^fixed +took the rights/m);
  expect([home, notes, join(workingDirectory, '.env')].map((path) => statSync(path).mode & 0o077)).toEqual([
    0, 0, 0,
  ]);
  expect((await audit()).output).not.toContain('can look into');
});

it('finds a speech translator that whoever reaches it may use', async () => {
  const { audit } = start();
  const reachable = { VOICE_HOST: '0.0.0.0', TRANSLATOR_PORT: '8093' };
  const open = /^note +speech translator is open +it listens on 0\.0\.0\.0 and takes work from whoever/m;
  const { output } = await audit([], { ...reachable, TRUNKLINE_OPEN: '1' });
  expect(output).toMatch(open);
  expect(output).toMatch(/Set users\.yaml, or let it listen on 127\.0\.0\.1/);
  const closed = await audit([], reachable);
  expect(closed.output).not.toMatch(open);
  expect(closed.output).toMatch(/with a key: .*speech translator on 0\.0\.0\.0 \(the operator's key\)/);
  // On this machine alone it is open, unless a service beside it asks for a key.
  const local = /may give work to .*speech translator/;
  expect((await audit([], { TRANSLATOR_PORT: '8093' })).output).toMatch(local);
  const beside = { TRANSLATOR_PORT: '8093', RESEARCH_AUTH_TOKEN: 'long-enough-to-be-0123456789' };
  expect((await audit([], beside)).output).not.toMatch(local);
});

it('shows, verifies and exports the audit log', async () => {
  const { audit, home } = start();
  const log = new AuditLog({ home, logger: console });
  const principal = { kind: 'operator', id: 'operator', via: ['voice'] } as const;
  for (const subject of ['one', 'two\u001b[2J'])
    log.append({ service: 'agent', action: 'tool.call', subject, principal, decision: 'deny' });
  log.close();
  const shown = await audit(['log']);
  expect(shown.output).toMatch(/agent {2}operator:operator > voice {2}tool\.call {2}one {2}deny/);
  expect(shown.output).not.toContain('\u001b');
  expect((await audit(['verify'])).output).toMatch(/^ok +audit log +2 entries, chain whole/m);
  const lines = (await audit(['export'])).output.trim().split('\n');
  expect(lines.map((line) => (JSON.parse(line) as { subject: string }).subject)).toEqual([
    'one',
    'two\u001b[2J',
  ]);

  const file = new DatabaseSync(auditFile(home));
  file.exec(
    "DROP TRIGGER entries_are_never_changed; UPDATE entries SET decision = 'allow' WHERE sequence = 2",
  );
  file.close();
  const broken = await audit(['verify']);
  expect(broken.output).toMatch(/^FAILED +audit log +entry 2 /m);
  expect(broken.code).toBe(1);
  expect((await audit(['nonsense'])).code).toBe(2);
});
