// Runs a public conformance kit that you have fetched, unmodified, against the conformance target and the real agent
// service: node interop/kits.ts FOLDER [--python PATH] [--against target|agent]
// FOLDER is a checkout of a2aproject/a2a-tck, of its branch 0.3.x or 1.0-dev. Ends with 1 when a case fails that is not
// listed here, or when a listed one has begun to pass.
import { execFile } from 'node:child_process';
import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { type ModelServer, type ScriptedReply, startModelServer } from '@trunkline/testing';
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

interface Kit {
  arguments(url: string): string[];
  /** What the agent's model does, whatever it is asked. */
  reply: ScriptedReply;
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

const kits: Record<'0.3' | '1.0', Kit> = {
  '0.3': {
    arguments: (url) => ['tests/mandatory', 'tests/optional', `--sut-url=${url}/a2a`, '--test-scope=all'],
    // It wants tasks that can be continued and cancelled.
    reply: { toolCalls: [{ name: 'ask_human', arguments: { question: 'What next?' } }] },
    known: {
      test_push_notification_not_supported_error_32003_enhanced: {
        why: 'it looks for `capabilities` beside the card, finds none, and expects -32003 of an agent that has webhooks',
      },
      test_invalid_method_error_validation: {
        why: 'it sends an object as the method, which is -32600 (JSON-RPC 2.0, section 4), and expects -32601',
      },
      test_sensitive_information_protection: {
        why: 'it takes the loopback address that it was started with for a secret in the card',
      },
      test_get_push_notification_config: {
        why: 'it asks for the webhook "default", an id that it never gave (0.3, section 7.6)',
      },
      test_missing_required_message_fields: {
        why: 'our 0.3 fills in messageId and role, as its contract says; 1.0 refuses',
      },
      test_task_state_transitions: {
        why: 'it expects submitted or working after a message/send that waits for the agent (0.3, section 7.1)',
      },
      test_task_cancel_state_handling: {
        why: 'our 0.3 answers a second cancel with the task, as its contract says; 1.0 refuses. The kit calls it a matter of quality',
      },
      test_agent_interfaces_structure: {
        why: 'it wants gRPC at an address with http (0.3, section 5.5.5); the official SDKs of 0.3 dial host:port alone, as 1.0 has it',
      },
      test_same_error_handling_task_not_found: { why: 'the same: it cannot dial host:port' },
      test_same_error_handling_invalid_params: { why: 'the same: it cannot dial host:port' },
    },
  },
  '1.0': {
    arguments: (url) => ['tests/compatibility', `--sut-host=${url}`],
    reply: 'Generated text content',
    known: {
      test_agent_card_validates_against_schema: {
        why: 'the card has fields of 0.3 too, which 1.0 ignores (section 5.7); with A2A-Version: 1.0, which the kit does not send for the card, it has none',
      },
      ...transports(
        'CORE-SEND-003-',
        'it demands ContentTypeNotSupportedError and counts every error as a failure',
      ),
      test_response_content_type: {
        why: '1.0.1 recommends application/a2a+json (section 11.1); the kit has the text of 1.0.0',
      },
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
  const home = mkdtempSync(join(tmpdir(), 'trunkline-kit-'));
  const processes = new Group(home);
  const model = await startModelServer({ script: () => kit.reply });
  try {
    const url = await (against === 'target' ? startTarget(processes) : startAgent(processes, home, model));
    const output = await runKit(kit.arguments(url));
    const failures = [...output.matchAll(/^FAILED (tests\S+)/gm)].map(([, name = '']) => name);
    console.log(`\n${against}: ${output.trimEnd().split('\n').at(-1)}`);
    for (const name of failures) report(name, against);
    for (const [name, { only = against }] of Object.entries(kit.known))
      if (only === against && !failures.some((one) => one.endsWith(name)))
        fail(`- PASSES NOW ${name}: take it off the list in interop/kits.ts`);
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
  return processes.launch(process.execPath, [program, '--port', '0', '--grpc-port', '0'], {
    ready: /(http:\/\/localhost:\d+)/,
  });
}

function startAgent(processes: Group, home: string, model: ModelServer): Promise<string> {
  const env = {
    TRUNKLINE_HOME: home,
    LLM_GATEWAY_URL: model.url,
    LLM_API_KEY: 'interop',
    LLM_MODEL: 'scripted',
    A2A_GRPC_PORT: '0',
    PUSH_NOTIFICATION_ALLOWED_CIDRS: '127.0.0.0/8',
    PUSH_NOTIFICATION_ALLOWED_HOSTS: 'localhost,example.com',
  };
  return processes.launch(process.execPath, [join(root, 'bin/trunkline.js'), 'agent', '--port', '0'], {
    env,
    ready: /(http:\/\/127\.0\.0\.1:\d+)/,
  });
}

/** A kit that finds a failure ends with 1, which is not an error here; one that cannot run prints no result. */
function runKit(args: readonly string[]): Promise<string> {
  return new Promise((resolve, reject) => {
    execFile(
      values.python,
      ['-m', 'pytest', ...args, '--tb=no', '-q', '-p', 'no:cacheprovider'],
      { cwd: folder, timeout: limitMs, maxBuffer: 64 * 1024 * 1024 },
      (_error, stdout, stderr) => {
        if (/\d+ passed/.test(stdout)) resolve(stdout);
        else reject(new Error(`The kit did not run: ${(stderr || stdout).trim().slice(-2000)}`));
      },
    );
  });
}
