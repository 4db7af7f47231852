import { declaredTools } from '@trunkline/agent';
import { ConfigError, type Environment, readOptions } from '@trunkline/config';
import type { Origin, Principal, PrincipalKind } from '@trunkline/identity';
import { type CallSubject, type Effect, effects as knownEffects, urlSubject } from '@trunkline/llm';
import { Policy, type PolicyRequest } from '@trunkline/policy';
import { upOptions } from '../options.ts';
import { separateFlags } from './command.ts';

const usage = `Usage: trunkline policy show
       trunkline policy test --tool NAME [--args JSON] [--principal KIND[:ID]] [--agent NAME]
                             [--taint ORIGIN[,ORIGIN]] [--effects NAME[,NAME]] [--known]

  --taint    what the turn has read from outside, such as "fetch_url https://example.com"
  --effects  for tools that are not built in; all effects are assumed when left out
  --known    the address was named by whoever asked, or stood in a text that was read`;

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
  else explain(policy, requestOf(valuesOf(flags), known));
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

function explain(policy: Policy, request: PolicyRequest): void {
  const { decision, rule, why } = policy.decide(request);
  const { principal, agent, tool, effects, subject, origins } = request;
  const about = Object.entries(subject).map(([name, value]) => `${name}=${String(value)}`);
  console.log(`${decision}: ${tool} (${[effects.join(', '), ...about].join('; ')})`);
  console.log(
    `  for ${principal.kind} ${principal.id} by ${agent}, ${origins.length > 0 ? 'after text from outside' : 'with no text from outside'}`,
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

function requestOf(values: Values, known: boolean): PolicyRequest {
  const tool = values.get('--tool') ?? '';
  if (tool === '') throw new ConfigError('--tool is missing:', [usage]);
  const input = parseArguments(values.get('--args') ?? '{}');
  const declared = declaredTools().find(({ name }) => name === tool);
  return {
    principal: principalOf(values.get('--principal') ?? 'operator'),
    agent: values.get('--agent') ?? 'trunkline-agent',
    tool,
    effects: values.has('--effects')
      ? effectsOf(values.get('--effects') ?? '')
      : (declared?.effects ?? knownEffects),
    subject: declared?.subject?.(input) ?? guessSubject(input),
    origins: originsOf(values.get('--taint') ?? ''),
    isKnownUrl: () => known,
  };
}

function parseArguments(text: string): Record<string, unknown> {
  try {
    return { ...(JSON.parse(text) as object) };
  } catch (cause) {
    throw new ConfigError('--args is no JSON object:', [text], { cause });
  }
}

function principalOf(text: string): Principal {
  const [kind = '', ...id] = text.split(':');
  return { kind: kind as PrincipalKind, id: id.join(':') || kind, via: [] };
}

function effectsOf(text: string): Effect[] {
  return text.split(',').map((name) => {
    const effect = knownEffects.find((known) => known === name.trim());
    if (effect === undefined)
      throw new ConfigError(`--effects knows no "${name}":`, [`There are: ${knownEffects.join(', ')}.`]);
    return effect;
  });
}

function originsOf(text: string): Origin[] {
  return text
    .split(',')
    .map((origin) => origin.trim().split(/\s+(.*)/s))
    .flatMap(([kind = '', source = '']) => (kind === '' ? [] : [{ kind, source }]));
}

/** Of a tool whose declaration is not at hand, by the usual names of arguments. */
function guessSubject(input: Record<string, unknown>): CallSubject {
  const text = (...names: string[]) =>
    names.map((name) => input[name]).find((value) => typeof value === 'string');
  const [url, path, command, recipient] = [
    text('url'),
    text('path'),
    text('command'),
    text('recipient', 'target', 'channel_id', 'topic', 'to'),
  ];
  return {
    ...(url !== undefined && urlSubject(url as string)),
    ...(path !== undefined && { path: path as string }),
    ...(command !== undefined && { command: command as string }),
    ...(recipient !== undefined && { recipient: recipient as string }),
  };
}
