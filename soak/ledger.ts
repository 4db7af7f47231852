/** How something that was accepted stands. */
export interface Standing {
  /** `pending` is still being worked on; `missing` cannot be found or has lost its way. */
  state: 'answered' | 'failed' | 'waiting' | 'pending' | 'missing';
  /** How often it was answered. */
  times: number;
  /** Why it failed, or what is wrong, in words. */
  reason?: string;
}

/** One thing that the services accepted, kept outside of them. */
export interface Entry {
  load: string;
  /** The name by which the service knows it. */
  id: string;
  /** What is looked for in its answer. */
  mark: string;
}

/** One line of the table. */
export interface Account {
  load: string;
  offered: number;
  refused: number;
  accepted: number;
  answered: number;
  failed: number;
  waiting: number;
  missing: number;
  twice: number;
  /** Why entries failed, and how many for each reason. */
  reasons: Record<string, number>;
  /** Each entry that is missing or was answered twice, in words. */
  faults: string[];
}

/** Everything that was accepted, and how much was offered. */
export class Ledger {
  readonly #entries: Entry[] = [];
  readonly #offered = new Map<string, number>();
  readonly #refused = new Map<string, number>();

  offered(load: string): void {
    this.#offered.set(load, (this.#offered.get(load) ?? 0) + 1);
  }

  refused(load: string): void {
    this.#refused.set(load, (this.#refused.get(load) ?? 0) + 1);
  }

  accept(entry: Entry): void {
    this.#entries.push(entry);
  }

  entries(load: string): readonly Entry[] {
    return this.#entries.filter((entry) => entry.load === load);
  }

  account(load: string, standings: readonly { entry: Entry; standing: Standing }[]): Account {
    const count = (state: Standing['state']) =>
      standings.filter(({ standing }) => standing.state === state).length;
    const isLost = ({ standing }: { standing: Standing }) =>
      standing.state === 'missing' || standing.state === 'pending' || lacksReason(standing);
    const isDouble = ({ standing }: { standing: Standing }) => standing.times > 1;
    return {
      load,
      offered: this.#offered.get(load) ?? 0,
      refused: this.#refused.get(load) ?? 0,
      accepted: standings.length,
      answered: count('answered'),
      failed: count('failed'),
      waiting: count('waiting'),
      missing: standings.filter(isLost).length,
      twice: standings.filter(isDouble).length,
      reasons: reasonsOf(standings.map(({ standing }) => standing)),
      faults: standings.filter((each) => isLost(each) || isDouble(each)).map(inWords),
    };
  }
}

/** Reasons that differ only in a name or number are one. */
function reasonsOf(standings: readonly Standing[]): Record<string, number> {
  const reasons: Record<string, number> = {};
  for (const { state, reason = '' } of standings) {
    if (state !== 'failed') continue;
    const words = reason.replace(/soak-[\w-]+|\b[\w-]*\d[\w-]*\b/g, '…').slice(0, 120);
    reasons[words] = (reasons[words] ?? 0) + 1;
  }
  return reasons;
}

/** A failure that nobody can explain counts as lost. */
function lacksReason({ state, reason }: Standing): boolean {
  return state === 'failed' && (reason ?? '') === '';
}

function inWords({ entry, standing }: { entry: Entry; standing: Standing }): string {
  const { state, times, reason = 'no reason was given' } = standing;
  return `${entry.load} ${entry.id} (${entry.mark}): ${state}, answered ${times} times, ${reason}`;
}
