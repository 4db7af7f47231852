import { setTimeout as delay } from 'node:timers/promises';
import type { Account, Entry, Ledger, Standing } from './ledger.ts';
import type { Load } from './load/load.ts';

interface Settling {
  ledger: Ledger;
  loads: readonly Load[];
}

/** Longer than the half minute after which a jump of the clock is noticed, and than the pause of an agent that failed. */
const patienceMs = 120_000;
const lookEveryMs = 1000;

/** Waits until nothing is under way any more, then looks at everything once more, so that a late second answer shows. */
export async function accountFor({ ledger, loads }: Settling): Promise<Account[]> {
  const deadline = performance.now() + patienceMs;
  for (const load of loads) await settle(load, ledger.entries(load.name), deadline);
  const accounts: Account[] = [];
  for (const load of loads)
    accounts.push(ledger.account(load.name, await load.standings(ledger.entries(load.name))));
  return accounts;
}

async function settle(load: Load, entries: readonly Entry[], deadline: number): Promise<void> {
  let open = entries;
  while (open.length > 0 && performance.now() < deadline) {
    const standings = await load.standings(open);
    open = standings.filter(({ standing }) => isOpen(standing)).map(({ entry }) => entry);
    if (open.length > 0) await delay(lookEveryMs);
  }
}

/** What is missing now may still be on its way. */
function isOpen({ state }: Standing): boolean {
  return state === 'pending' || state === 'missing';
}
