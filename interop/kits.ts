// Runs a public conformance kit that you have fetched, unmodified, against the conformance target and the real agent
// service: node interop/kits.ts FOLDER [--python PATH] [--against target|agent]
// FOLDER is a checkout of a2aproject/a2a-tck, of its branch 0.3.x or 1.0-dev. Ends with 1 when a case fails that is not
// listed here, or when a listed one has begun to pass.
import { execFile } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { type AddressInfo, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import {
  type ChatRequestBody,
  type ModelServer,
  type ScriptedReply,
  startModelServer,
} from '@trunkline/testing';
import { Group } from '../bench/peers/processes.ts';

const limitMs = 20 * 60_000;
const root = join(import.meta.dirname, '..');
const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { python: { type: 'string', default: 'python3' }, against: { type: 'string' } },
});
const [folder] = positionals;
if (folder === undefined) {
  console.error(
    'Name the folder of the kit: npm run interop:kits -- FOLDER [--python PATH] [--against target|agent]',
  );
  process.exit(2);
}

type Against = 'target' | 'agent';

const states = ['PASSED', 'XFAIL', 'XPASS', 'FAILED', 'ERROR', 'SKIPPED'] as const;

interface Outcome {
  state: (typeof states)[number];
  why: string;
}

const rank = ({ state }: Outcome) => states.indexOf(state);

interface Kit {
  /** How the card writes the address of gRPC: the kit of 0.3 dials URLs alone, as its text has them, the official SDKs host:port. */
  grpc: 'url' | 'host-and-port';
  arguments(url: string): string[];
  /**
   * What the agent's model does. The kit is run once with each: it wants tasks that end at once and tasks that ask, for the
   * same words. A case counts by the best that it came to.
   */
  replies: readonly ((request: ChatRequestBody) => ScriptedReply)[];
  /** By the end of a test's name: why it fails though we keep to the specification. */
  known: Record<string, { why: string; only?: Against }>;
}

const scripted = {
  why: 'it expects an agent that plays its scripts by the id of the message, as the target does (4.1.4, 3.1.1: an id is only an id)',
  only: 'agent',
} as const;

/** A case of the kit that runs once a transport. */
function transports(name: string, known: string | typeof scripted): Kit['known'] {
  const entry = typeof known === 'string' ? { why: known } : known;
  return Object.fromEntries(['grpc', 'jsonrpc', 'http_json'].map((each) => [`${name}${each}]`, entry]));
}

const question: ScriptedReply = {
  toolCalls: [{ name: 'ask_human', arguments: { question: 'What next?' } }],
};

const kits: Record<'0.3' | '1.0', Kit> = {
  '0.3': {
    grpc: 'url',
    arguments: (url) => ['tests/mandatory', 'tests/optional', `--sut-url=${url}/a2a`, '--test-scope=all'],
    // It wants tasks that can be continued and cancelled.
    replies: [() => question],
    known: {
      test_push_notification_not_supported_error_32003_enhanced: {
        why: 'it looks for `capabilities` beside the result of JSON-RPC (0.3, section 6.11.2) and expects -32003 of an agent that has webhooks (8.2)',
      },
      test_invalid_method_error_validation: {
        why: 'it sends an object as the method, which is -32600 (JSON-RPC 2.0, section 4), and expects -32601',
      },
      test_sensitive_information_protection: {
        why: 'it takes the loopback address that it was started with, which the card must have (0.3, section 5.6.1), for a secret',
      },
      test_get_push_notification_config: {
        why: 'it asks for the webhook "default", an id that it never gave (0.3, section 6.8: the client sets it)',
      },
      test_task_state_transitions: {
        why: 'it expects submitted or working after a message/send that waits for the agent (0.3, section 7.1)',
      },
      test_task_cancel_state_handling: {
        why: 'a second cancel is answered with the task (0.3, section 7.4; -32002 is a SHOULD of 8.2, the contract says no-op); 1.0 refuses',
      },
    },
  },
  '1.0': {
    grpc: 'host-and-port',
    arguments: (url) => ['tests/compatibility', `--sut-host=${url}`],
    replies: [
      () => 'Generated text content',
      ({ messages }) =>
        /TCK (follow-up|complete|trigger)/.test(JSON.stringify(messages.at(-1))) ? 'Done' : question,
    ],
    known: {
      test_agent_card_validates_against_schema: {
        why: 'the card has fields of 0.3 too, which 1.0 ignores (section 5.7); with A2A-Version: 1.0, which the kit does not send for the card, it has none',
      },
      ...transports(
        'CORE-SEND-003-',
        'it demands ContentTypeNotSupportedError and counts every error as a failure',
      ),
      test_version_not_supported_returns_unimplemented: {
        why: '1.0.1 maps it to FAILED_PRECONDITION (section 5.4); the kit has the text of 1.0.0',
      },
      test_content_type_not_supported_returns_415: {
        why: '1.0.1 maps it to 400 (section 5.4); the kit has the text of 1.0.0',
      },
      ...transports('test_task_has_file_artifact[', scripted),
      ...transports('test_task_has_file_url_artifact[', scripted),
      ...transports('test_task_has_data_artifact[', scripted),
      ...transports('test_returns_message_with_text_part[', scripted),
    },
  },
};

const kit = existsSync(join(folder, 'tests/compatibility')) ? kits['1.0'] : kits['0.3'];
let failed = false;
for (const against of ['target', 'agent'] as const)
  if (values.against === undefined || values.against === against) await tryAgainst(against);
process.exit(failed ? 1 : 0);

async function tryAgainst(against: Against): Promise<void> {
  const outcomes = new Map<string, Outcome>();
  // The target has no model.
  for (const reply of against === 'target' ? kit.replies.slice(0, 1) : kit.replies)
    for (const [name, outcome] of await outcomesOf(against, reply)) {
      const known = outcomes.get(name);
      if (known === undefined || rank(outcome) < rank(known)) outcomes.set(name, outcome);
    }
  const counts = Object.entries(Object.groupBy(outcomes.values(), ({ state }) => state));
  console.log(`\n${against}: ${counts.map(([state, all = []]) => `${all.length} ${state}`).join(', ')}`);
  const failures = [...outcomes].filter(([, { state }]) => state === 'FAILED').map(([name]) => name);
  for (const name of failures) report(name, against);
  const skips = [...outcomes.values()].filter(({ state }) => state === 'SKIPPED');
  for (const [why, all = []] of Object.entries(Object.groupBy(skips, (skip) => skip.why)))
    console.log(`- skipped ${all.length}: ${why}`);
  for (const [name, { only = against }] of Object.entries(kit.known))
    if (only === against && !failures.some((one) => one.endsWith(name)))
      fail(`- PASSES NOW ${name}: take it off the list in interop/kits.ts`);
}

async function outcomesOf(against: Against, reply: Kit['replies'][number]): Promise<Map<string, Outcome>> {
  const home = mkdtempSync(join(tmpdir(), 'trunkline-kit-'));
  const processes = new Group(home);
  const model = await startModelServer({ script: reply });
  try {
    const url = await (against === 'target' ? startTarget(processes) : startAgent(processes, home, model));
    const output = await runKit(kit.arguments(url));
    const line = new RegExp(`^(tests\\S+::.*?) (${states.join('|')})(?: \\((.*)\\))? +\\[`, 'gm');
    return new Map(
      [...output.matchAll(line)].map(([, name = '', state, why = '']) => [
        name,
        { state: state as Outcome['state'], why: why.replace(/[0-9a-f]{8}-[0-9a-f-]{27}/g, '...') },
      ]),
    );
  } finally {
    await processes.stop();
    await model.stop();
    rmSync(home, { recursive: true, force: true });
  }
}

function report(name: string, against: Against): void {
  const known = Object.entries(kit.known).find(
    ([end, { only = against }]) => name.endsWith(end) && only === against,
  );
  if (known === undefined) fail(`- FAILS ${name}`);
  else console.log(`- ${name}: ${known[1].why}`);
}

function fail(line: string): void {
  failed = true;
  console.log(line);
}

function startTarget(processes: Group): Promise<string> {
  const program = join(root, 'packages/testing/a2a/conformance-target.ts');
  const args = ['--port', '0', '--grpc-port', '0', ...(kit.grpc === 'url' ? ['--grpc-url'] : [])];
  return processes.launch(process.execPath, [program, ...args], { ready: /(http:\/\/localhost:\d+)/ });
}

async function startAgent(processes: Group, home: string, model: ModelServer): Promise<string> {
  const grpcPort = await freePort();
  const env = {
    TRUNKLINE_HOME: home,
    LLM_GATEWAY_URL: model.url,
    LLM_API_KEY: 'interop',
    LLM_MODEL: 'scripted',
    A2A_GRPC_PORT: String(grpcPort),
    A2A_GRPC_PUBLIC_ADDRESS: `${kit.grpc === 'url' ? 'http://' : ''}127.0.0.1:${grpcPort}`,
    PUSH_NOTIFICATION_ALLOWED_CIDRS: '127.0.0.0/8',
    PUSH_NOTIFICATION_ALLOWED_HOSTS: 'localhost,example.com',
  };
  return processes.launch(process.execPath, [join(root, 'bin/trunkline.js'), 'agent', '--port', '0'], {
    env,
    ready: /(http:\/\/127\.0\.0\.1:\d+)/,
  });
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, 'close');
  return port;
}

/** A kit that finds a failure ends with 1, which is not an error here; one that cannot run prints no result. */
function runKit(args: readonly string[]): Promise<string> {
  return new Promise((resolve, reject) => {
    execFile(
      // Reasons are cut to the width of the terminal.
      'env',
      ['COLUMNS=1000', values.python, '-m', 'pytest', ...args, '--tb=no', '-v', '-p', 'no:cacheprovider'],
      { cwd: folder, timeout: limitMs, maxBuffer: 64 * 1024 * 1024 },
      (_error, stdout, stderr) => {
        if (/\d+ passed/.test(stdout)) resolve(stdout);
        else reject(new Error(`The kit did not run: ${(stderr || stdout).trim().slice(-2000)}`));
      },
    );
  });
}
