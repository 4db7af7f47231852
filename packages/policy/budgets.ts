import { accountIdOf, type Principal, type PrincipalKind, principalName, roleOf } from '@trunkline/identity';
import type { BudgetUse } from '@trunkline/std';
import { anyText, compilePrincipal } from './decide.ts';
import type { Budget } from './schema.ts';

const HOUR_MS = 3_600_000;
const MAX_ACCOUNTS = 10_000;
const MAX_SHOWN = 20;

/** What somebody spends. */
interface Expense {
  calls: number;
  messages: number;
}

type Spender = { principal: Principal; agent: string };

interface Account {
  since: number;
  calls: number;
  messages: number;
  usd: number;
}

const kinds = ['calls', 'messages', 'usd'] as const;
const names = { calls: 'tool calls', messages: 'messages', usd: 'dollars' };

/**
 * Counts by hour, for each budget, principal and agent. Guests without an account count as one: a stranger can have as many
 * addresses as they like. Starts anew with the process.
 */
export class Budgets {
  readonly #now: () => number;
  readonly #accounts = new Map<string, Account>();
  /** With the agents on whose accounts an expense is booked; none where the budget is not theirs. */
  #budgets: readonly { budget: Budget; agentsOf(spender: Spender): readonly string[] }[] = [];

  constructor(now: () => number = Date.now) {
    this.#now = now;
  }

  configure(budgets: readonly Budget[]): void {
    this.#budgets = budgets.map((budget) => {
      const isPrincipal = compilePrincipal(budget.principal ?? ['*']);
      const isAgent = budget.agent && anyText(budget.agent);
      return {
        budget,
        agentsOf: ({ principal, agent }) => {
          if (!isPrincipal(principal)) return [];
          if (isAgent === undefined) return [agent];
          return [...new Set([agent, ...principal.via])].filter(isAgent);
        },
      };
    });
  }

  /** Books the expense; where a budget has no room for it, nothing is booked and the words say so. */
  spend(spender: Spender, expense: Expense): string | undefined {
    const found = this.#accountsOf(spender);
    const expenses = { ...expense, usd: 0 };
    for (const { budget, account, index } of found) {
      const spent = kinds.find((kind) => isOver(kind, account[kind], expenses[kind], budget[kind]));
      if (spent !== undefined) return spentWords({ budget, index }, spent);
    }
    for (const { account } of found) for (const kind of kinds) account[kind] += expenses[kind];
    return undefined;
  }

  /** Why no more may be spent on models; undefined while there is room. */
  outOfMoney(spender: Spender): string | undefined {
    const spent = this.#accountsOf(spender).find(({ budget, account }) =>
      isOver('usd', account.usd, 0, budget.usd),
    );
    return spent && spentWords(spent, 'usd');
  }

  /** Books what a model cost. */
  pay(spender: Spender, usd: number): void {
    for (const { account } of this.#accountsOf(spender)) account.usd += usd;
  }

  /** What was used of each budget within the hour, the heaviest users first. */
  usage(): BudgetUse[][] {
    const uses = this.#budgets.map((): BudgetUse[] => []);
    for (const [key, account] of this.#accounts) {
      const [index, kind, id, agent] = JSON.parse(key) as [number, PrincipalKind, string, string];
      const isOver = this.#now() - account.since >= HOUR_MS;
      if (!isOver) uses[index]?.push({ principal: principalName({ kind, id }), agent, ...account });
    }
    return uses.map((list) => list.sort((left, right) => right.calls - left.calls).slice(0, MAX_SHOWN));
  }

  #accountsOf(spender: Spender) {
    return this.#budgets.flatMap(({ budget, agentsOf }, index) =>
      agentsOf(spender).map((agent) => ({
        budget,
        index,
        account: this.#account(index, { ...spender, agent }),
      })),
    );
  }

  #account(index: number, { principal, agent }: Spender): Account {
    const { kind, id } = isStranger(principal) ? strangers : principal;
    const key = JSON.stringify([index, kind, id, agent]);
    const known = this.#accounts.get(key);
    if (known !== undefined && this.#now() - known.since < HOUR_MS) return known;
    const account = { since: this.#now(), calls: 0, messages: 0, usd: 0 };
    this.#accounts.delete(key);
    this.#accounts.set(key, account);
    for (const oldest of this.#accounts.keys()) {
      if (this.#accounts.size <= MAX_ACCOUNTS) break;
      this.#accounts.delete(oldest);
    }
    return account;
  }
}

const strangers = { kind: 'person', id: 'guests without an account' };

function isStranger(principal: Principal): boolean {
  return roleOf(principal) === 'guest' && accountIdOf(principal) === undefined;
}

function spentWords(
  { budget, index }: { budget: Budget; index: number },
  kind: (typeof kinds)[number],
): string {
  return `budgets[${index}] of policy.yaml allows ${budget[kind]} ${names[kind]} an hour, and they are spent`;
}

/** Money is known only after it was spent, so that a budget of money is over once its limit is reached. */
function isOver(
  kind: (typeof kinds)[number],
  spent: number,
  more: number,
  limit: number | undefined,
): boolean {
  if (limit === undefined) return false;
  return kind === 'usd' ? spent >= limit : more > 0 && spent + more > limit;
}
