import type { PolicyConfig } from '@trunkline/policy';
import type { SandboxSettings } from '@trunkline/sandbox';
import type { Diagnosis } from './service.ts';

/** A program or server of a configuration, as far as trust in it is concerned. */
export interface ConfiguredTool {
  kind: 'MCP server' | 'coding agent' | 'delegate' | 'agent';
  name: string;
  file: string;
  /** Of an MCP server: what it says of its tools is believed. */
  trusted?: boolean | undefined;
  /** Of a coding agent: each order is asked about. */
  confirm?: boolean | undefined;
  /** Undefined: the defaults, or a server elsewhere. */
  sandbox?: SandboxSettings | undefined;
}

export interface ToolTrust {
  configured: readonly ConfiguredTool[];
  /** TRUNKLINE_SANDBOX_HOSTS. */
  commandHosts: readonly string[];
  /** SWITCHBOARD_SHELL; undefined elsewhere. */
  shell?: 'ask' | 'on' | 'off' | undefined;
}

/** What agents and programs may do without asking, and outside the sandbox, because the operator said so. */
export function toolFindings(policy: PolicyConfig, trust: ToolTrust | undefined): Diagnosis[] {
  return [...policyFindings(policy), ...(trust === undefined ? [] : trustFindings(trust))];
}

const WIDE_EFFECTS = new Set(['sends', 'spends', 'executes', 'configures']);

function policyFindings({ rules, agents }: PolicyConfig): Diagnosis[] {
  const subject = 'policy';
  const relaxed = Object.keys(agents).filter((name) => agents[name]?.taint === 'relaxed');
  const delegating = Object.keys(agents).filter(
    (name) => agents[name]?.delegation === 'relaxed' && !relaxed.includes(name),
  );
  const loose = rules
    .map((rule, index) => ({ ...rule, number: index + 1 }))
    .filter(
      ({ decision, arguments: given, taint }) =>
        decision === 'allow' && given === undefined && taint !== 'clean',
    );
  const isWide = ({ tool, effects }: (typeof loose)[number]) =>
    (tool === undefined || tool.some((name) => name.includes('*'))) &&
    (effects === undefined || effects.some((effect) => WIDE_EFFECTS.has(effect)));
  const wide = loose.filter(isWide);
  const named = loose.filter(
    (rule) =>
      !isWide(rule) && rule.tool !== undefined && !rule.effects?.every((effect) => effect === 'reads'),
  );
  const findings: Diagnosis[] = [];
  if (relaxed.length > 0)
    findings.push({
      subject,
      state: 'warning',
      words: `${relaxed.join(', ')} is relaxed: whoever writes a text that it reads can use all its tools.`,
      advice: 'Remove "taint: relaxed" from policy.yaml, or allow single tools by rules.',
    });
  if (delegating.length > 0)
    findings.push({
      subject,
      state: 'warning',
      words: `${delegating.join(', ')} hands work on without asking: whoever writes a text that it reads can give work to your other agents.`,
      advice:
        'Remove "delegation: relaxed" from policy.yaml; a person who asks for the other agent by name lets it hand work on.',
    });
  if (wide.length > 0)
    findings.push({
      subject,
      state: 'warning',
      words: `rule ${wide.map(({ number }) => number).join(', ')} of policy.yaml allows many tools without asking, also after text from outside.`,
      advice: 'Name the tool, and the path, host, command or recipient.',
    });
  if (named.length > 0)
    findings.push({
      subject,
      state: 'warning',
      words: `policy.yaml allows with any arguments, also after text from outside: ${named.map(({ tool = [], number }) => `${tool.join(', ')} (rule ${number})`).join('; ')}.`,
      advice: 'Name the path, host, command or recipient, or add "taint: clean".',
    });
  if (findings.length > 0) return findings;
  const words = 'no rule allows a tool with any arguments after text from outside, and no agent is relaxed.';
  return [{ subject, state: 'ok', words }];
}

function trustFindings({ configured, commandHosts, shell }: ToolTrust): Diagnosis[] {
  const named = (tools: readonly ConfiguredTool[]) =>
    tools.map(({ name, file }) => `${name} (${file})`).join(', ');
  const trusted = configured.filter((tool) => tool.trusted);
  const unasked = configured.filter(({ kind, confirm }) => kind === 'coding agent' && !confirm);
  const unboxed = configured.filter(({ sandbox }) => sandbox === 'off');
  const open = configured.filter(({ sandbox }) => typeof sandbox === 'object' && sandbox.network === 'open');
  const found: (false | Omit<Diagnosis, 'state'>)[] = [
    shell === 'on' && {
      subject: 'commands',
      words: 'SWITCHBOARD_SHELL=on: agents of the switchboard with runCommand run commands without asking.',
      advice: 'Unset it to approve each command, or name the commands in rules of policy.yaml.',
    },
    commandHosts.includes('*') && {
      subject: 'commands',
      words: 'TRUNKLINE_SANDBOX_HOSTS=*: commands reach the whole network, this machine too.',
      advice: 'List the hosts that they need.',
    },
    unasked.length > 0 && {
      subject: 'coding agents',
      words: `start work without asking: ${named(unasked)}.`,
      advice: 'Set "confirm: true" to approve each order.',
    },
    trusted.length > 0 && {
      subject: 'MCP servers',
      words: `are believed when they say that a tool only reads: ${named(trusted)}.`,
      advice: 'Trust only servers that you run yourself; others ask after text from outside.',
    },
    unboxed.length > 0 && {
      subject: 'sandbox',
      words: `run with all rights of this account (sandbox: off): ${named(unboxed)}.`,
      advice: 'Give them the folders and hosts that they need instead (writable, readOnly, network).',
    },
    open.length > 0 && {
      subject: 'sandbox',
      words: `reach the whole network, this machine too (network: open): ${named(open)}.`,
      advice: 'List the hosts that they need (network: { hosts: [...] }).',
    },
  ];
  return found.filter((finding) => finding !== false).map((finding) => ({ ...finding, state: 'warning' }));
}
