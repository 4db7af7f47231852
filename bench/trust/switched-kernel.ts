// Loaded before the agent: on the message `off`, functions that do nothing take the place of marks and fences, and the
// policy allows everything, spends nothing and records nothing; `on` brings the kernel back.
import { registerHooks } from 'node:module';

const kernel = { isOff: false };
Object.assign(globalThis, { benchKernel: kernel });
process.on('message', (message) => {
  if (message === 'on' || message === 'off') kernel.isOff = message === 'off';
});

const marks = {
  markOf: '() => ({})',
  originsIn: '() => []',
  isPersonLast: '() => false',
  isAskedFor: '() => false',
  markRequest: '(messages) => messages',
  createBorder: "() => ''",
  fenceInstructions: "() => ''",
  fenceMessages: '(messages) => messages',
  createFenceFilter: "() => ({ push: (text) => text, end: () => '' })",
  withoutFences: '(messages) => messages',
};
const addresses = {
  markOfDropped: '() => ({})',
  noteDropped: '(message) => message',
  isKnownUrl: '() => true',
  quotesUrl: '() => true',
};
const replaced = new Map<string, Record<string, string>>([
  ['taint.ts', marks],
  ['known-addresses.ts', addresses],
]);

registerHooks({
  load: (url, context, next) => {
    const functions = replaced.get(url.split('/packages/loop/')[1] ?? '');
    if (functions === undefined) return next(url, context);
    // The query makes the address of the module itself another one than that of this one in its place.
    const source = [
      `import * as whole from '${url}?whole';`,
      `export * from '${url}?whole';`,
      'const kernel = globalThis.benchKernel;',
      ...Object.entries(functions).map(
        ([name, bare]) =>
          `const bare_${name} = ${bare};
          export const ${name} = (...given) => kernel.isOff ? bare_${name}(...given) : whole.${name}(...given);`,
      ),
    ].join('\n');
    return { format: 'module', source, shortCircuit: true };
  },
});

const { Policy } = await import('@trunkline/policy');
const allowed = { decision: 'allow', rule: 'none', why: '' } as const;
const bare: Record<string, () => unknown> = { decide: () => allowed, check: () => allowed };
const forAgent = Policy.prototype.for;
type AgentPolicy = ReturnType<typeof forAgent>;
Policy.prototype.for = function (agent): AgentPolicy {
  const whole = forAgent.call(this, agent);
  const switched = Object.entries(whole).map(([name, value]) => {
    if (typeof value !== 'function') return [name, value];
    const work = value as (...given: unknown[]) => unknown;
    return [name, (...given: unknown[]) => (kernel.isOff ? bare[name]?.() : work(...given))];
  });
  return Object.fromEntries(switched) as AgentPolicy;
};
