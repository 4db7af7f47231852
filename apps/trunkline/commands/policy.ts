import { declaredTools } from '@trunkline/agent';
import { ConfigError, type Environment, readOptions } from '@trunkline/config';
import { explainCall, Policy } from '@trunkline/policy';
import type { TriedCall } from '@trunkline/std';
import { upOptions } from '../options.ts';
import { separateFlags } from './command.ts';

const usage = `Usage: trunkline policy show
       trunkline policy test --tool NAME [--args JSON] [--principal WHO] [--agent NAME]
                             [--taint ORIGIN[,ORIGIN]] [--effects NAME[,NAME]] [--known]

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
  if (rest.includes('--help') || (action !== 'show' && action !== 'test')) {
    console.log(usage);
    return rest.includes('--help') ? 0 : 2;
  }
  const { trunklineHome } = readOptions(upOptions, { argv: [], env });
  const policy = new Policy({
    home: trunklineHome,
    logger: { info: () => undefined, error: () => undefined },
  });
  if (action === 'show') show(policy);
  else explain(policy, callOf(valuesOf(flags), known));
  if (policy.problem === undefined) return 0;
  console.error(policy.problem);
  return 1;
}

function show(policy: Policy): void {
  console.log(`# ${policy.file}\n${JSON.stringify(policy.config, null, 2)}\n`);
  console.log(`# Then, by default:
#   a turn that has read no text from outside: allow
#   after text from outside: reads allow; addresses that nobody named ask; all other effects ask,
#   except handing work to these services themselves`);
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
