import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Principal } from '@trunkline/identity';
import { temporaryDirectory } from '@trunkline/testing';
import { expect, it, onTestFinished } from 'vitest';
import { Policy, type PolicyRequest } from './index.ts';

const logger = { info: () => undefined, error: () => undefined } as never;

function open(text: string): Policy {
  const home = temporaryDirectory();
  onTestFinished(home.remove);
  writeFileSync(join(home.path, 'policy.yaml'), text);
  return new Policy({ home: home.path, logger });
}

/** A call by an agent that others handed the work to. */
function call(agent: string, ...via: string[]): PolicyRequest {
  const principal: Principal = { kind: 'operator', id: 'operator', via };
  return { principal, agent, tool: 'write_file', effects: ['writes'], subject: {}, origins: [] };
}

it.each([
  ['deny', 'deny'],
  ['ask', 'ask'],
  // A right is not handed on.
  ['allow', 'deny'],
])('a rule with %s for an agent says %s where the agent handed the work on', (decision, expected) => {
  const policy = open(
    `rules: [{ agent: scribe, decision: ${decision} }, { agent: [mate, agent], decision: ${decision === 'allow' ? 'deny' : 'allow'} }]`,
  );
  const decided = (...chain: [string, ...string[]]) => policy.decide(call(...chain)).decision;
  expect(decided('scribe')).toBe(decision);
  expect(decided('mate', 'scribe')).toBe(expected);
  expect(decided('agent', 'scribe', 'mate', 'switchboard')).toBe(expected);
  expect(decided('mate', 'voice')).toBe(decision === 'allow' ? 'deny' : 'allow');
});

it('books what an agent hands on to its own budget', () => {
  const policy = open('budgets: [{ agent: scribe, calls: 2 }, { calls: 3 }]');
  expect(policy.spend(call('scribe'))).toBeUndefined();
  expect(policy.spend(call('mate', 'scribe', 'switchboard'))).toBeUndefined();
  expect(policy.spend(call('agent', 'scribe', 'scribe'))).toMatch(/budgets\[0\] .* 2 tool calls/);
  // Others have their own room, and a budget for all counts each by who makes the call.
  expect(policy.spend(call('agent', 'mate'))).toBeUndefined();
  expect(policy.spend(call('agent', 'voice'))).toBeUndefined();
  expect(policy.usage.map((uses) => uses.map(({ agent, calls }) => [agent, calls]))).toEqual([
    [['scribe', 2]],
    expect.arrayContaining([
      ['agent', 2],
      ['mate', 1],
      ['scribe', 1],
    ]),
  ]);
  policy.pay(call('mate', 'scribe').principal, 'mate', 5);
  expect(policy.usage[0]?.[0]).toMatchObject({ agent: 'scribe', usd: 5 });
});
