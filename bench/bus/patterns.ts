/** Ten thousand and one patterns (70 % exact, 20 % with `*`, 10 % with a last `#`) and topics that hit and miss them. */
export interface Workload {
  patterns: string[];
  /** Topics that come again and again, as channels and skills do. */
  known: string[];
  /** Topics of which none comes twice, as correlation ids make them. */
  fresh: string[];
}

const heads = ['message', 'agent', 'cron', 'command', 'flow', 'tracker', 'cloud', 'review'];

export function createWorkload(): Workload {
  const random = generator(42);
  const pick = (count: number) => Math.floor(random() * count);
  const literal = (last: string) => {
    const middle = Array.from({ length: 2 + pick(3) }, () => `s${pick(40)}`);
    return [heads[pick(heads.length)] ?? '', ...middle, last];
  };
  const exact = fill(7000, () => literal(`x${pick(200)}`).join('.'));
  const starred = fill(2000, () => {
    const segments = literal(`x${pick(200)}`);
    segments[1 + pick(segments.length - 1)] = '*';
    return segments.join('.');
  });
  const open = fill(1000, () => literal('#').join('.'));
  return {
    patterns: [...exact, ...starred, ...open, '#'],
    known: fill(1000, () =>
      random() < 0.7 ? (exact[pick(exact.length)] ?? '') : literal(`x${pick(200)}`).join('.'),
    ),
    fresh: fill(200_000, (index) => literal(`y${index}`).join('.')),
  };
}

function fill(count: number, make: (index: number) => string): string[] {
  return Array.from({ length: count }, (_, index) => make(index));
}

/** The same numbers in every run. */
function generator(seed: number): () => number {
  let state = seed;
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return state / 4_294_967_296;
  };
}
