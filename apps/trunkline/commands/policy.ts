import { declaredTools } from '@trunkline/agent';
import { ConfigError, type Environment, readOptions } from '@trunkline/config';
import { explainCall, Policy } from '@trunkline/policy';
import type { PolicyView, TriedCall } from '@trunkline/std';
import { askAgent, plainLines, withoutControls } from '../chat/agent-api.ts';
import { liveServices, operatorHeaders } from '../operator/operator-headers.ts';
import { upOptions } from '../options.ts';
import { CommandError, separateFlags } from './command.ts';

const usage = `Usage: trunkline policy show
       trunkline policy descriptions [accept NAME HASH]
       trunkline policy test --tool NAME [--args JSON] [--principal WHO] [--agent NAME]
                             [--taint ORIGIN[,ORIGIN]] [--effects NAME[,NAME]] [--known]

  descriptions shows what MCP servers and agents of the running services say about themselves, each with the
               hash by which it is accepted: it counts for the text that you have read and no other

  --principal  operator, member, guest, agent, service, anonymous, schedule:ID, or person:voice:ava and the like
  --taint      what the turn has read from outside, such as "fetch_url https://example.com"
  --effects    for tools that are not built in; all effects are assumed when left out
  --known      the address was named by whoever asked, or stood in a text that was read`;

/** Shows the policy of this home, or explains a decision. The exit code is 1 while policy.yaml is broken. */
export async function main(argv: readonly string[], env: Environment): Promise<number> {
  const { known, rest } = {
    known: argv.includes('--known'),
    rest: argv.filter((token) => token !== '--known'),
  };
  const { flags, words } = separateFlags(rest);
  const [action] = words;
  if (rest.includes('--help') || !['show', 'test', 'descriptions'].includes(action ?? '')) {
    console.log(usage);
    return rest.includes('--help') ? 0 : 2;
  }
  const { trunklineHome } = readOptions(upOptions, { argv: [], env });
  const policy = new Policy({
    home: trunklineHome,
    logger: { info: () => undefined, error: () => undefined },
  });
  if (action === 'descriptions') return await descriptions(words.slice(1), trunklineHome, env);
  if (action === 'show') show(policy);
  else explain(policy, callOf(valuesOf(flags), known));
  if (policy.problem === undefined) return 0;
  console.error(policy.problem);
  return 1;
}

/** Lists what others say about themselves in the running services, or accepts the text that has a hash. */
async function descriptions(
  [action, ...names]: readonly string[],
  home: string,
  env: Environment,
): Promise<number> {
  const name = names.slice(0, -1).join(' ');
  const hash = names.at(-1) ?? '';
  const isAccept = action === 'accept' && name !== '' && /^[0-9a-f]{32,64}$/.test(hash);
  if (action !== undefined && !isAccept) {
    console.log(usage);
    return 2;
  }
  const services = await liveServices(home);
  if (services.length === 0)
    throw new CommandError(`No service of ${home} runs. Start them with "npm start".`);
  let count = 0;
  for (const { url, name: service } of services) {
    const api = { url, name: service, headers: operatorHeaders(url, home, env) };
    const view = (await askAgent(api, '/operator/policy')) as Pick<PolicyView, 'descriptions'>;
    for (const { kind, source, sha256, text, state } of view.descriptions) {
      if (isAccept && (source !== name || !sha256.startsWith(hash))) continue;
      count += 1;
      const head = `${state}: ${withoutControls(`${kind} ${source}`)} ${sha256.slice(0, shownHash)}`;
      console.log(`${head}\n${indented(plainLines(text))}\n`);
      if (!isAccept || state === 'accepted') continue;
      await askAgent(api, '/operator/policy/descriptions', {
        method: 'POST',
        body: { kind, source, sha256 },
      });
      console.log(`Accepted: ${withoutControls(source)}.`);
    }
  }
  if (isAccept && count === 0)
    throw new CommandError(
      `${name} does not say what has the hash ${hash}. Read what it says now with "npx trunkline policy descriptions".`,
    );
  if (count === 0) console.log('Nobody describes itself.');
  else if (!isAccept)
    console.log('Accept one that you have read with "npx trunkline policy descriptions accept NAME HASH".');
  return 0;
}

/** Enough of a SHA-256 that nobody finds a second text for it at leisure. */
const shownHash = 32;

function indented(text: string): string {
  return text.replace(/^/gm, '    ');
}

function show(policy: Policy): void {
  console.log(`# ${policy.file}\n${JSON.stringify(policy.config, null, 2)}\n`);
  console.log(`# Then, by default:
#   a turn that has read no text from outside: allow
#   after text from outside: reads allow; addresses that nobody named ask; all other effects ask,
#   except handing work to these services themselves once a person has asked for it since`);
}

function explain(policy: Policy, call: TriedCall): void {
  const { decision, rule, why, principal, agent, tool, effects, subject, tainted } = explainCall(
    policy,
    call,
    declaredTools(),
  );
  const about = Object.entries(subject).map(([name, value]) => `${name}=${String(value)}`);
  console.log(`${decision}: ${tool} (${[effects.join(', '), ...about].join('; ')})`);
  console.log(
    `  for ${principal} by ${agent}, ${tainted ? 'after text from outside' : 'with no text from outside'}`,
  );
  console.log(`  decided by ${rule}`);
  console.log(`  because ${why}`);
  if (decision === 'ask')
    console.log('  A person with the right to approve is asked; where nobody can be, it is refused.');
}

type Values = ReadonlyMap<string, string>;

function valuesOf(flags: readonly string[]): Values {
  const values = new Map<string, string>();
  for (let at = 0; at < flags.length; at += 1) {
    const [name = '', given] = (flags[at] ?? '').split(/=(.*)/s);
    values.set(name, given ?? flags[++at] ?? '');
  }
  return values;
}

function callOf(values: Values, known: boolean): TriedCall {
  const tool = values.get('--tool') ?? '';
  if (tool === '') throw new ConfigError('--tool is missing:', [usage]);
  return {
    tool,
    arguments: parseArguments(values.get('--args') ?? '{}'),
    principal: values.get('--principal'),
    agent: values.get('--agent'),
    taint: values.get('--taint')?.split(','),
    effects: values.get('--effects')?.split(','),
    known,
  };
}

function parseArguments(text: string): Record<string, unknown> {
  try {
    return { ...(JSON.parse(text) as object) };
  } catch (cause) {
    throw new ConfigError('--args is no JSON object:', [text], { cause });
  }
}
