/** Whether a path fits; made once for a pattern. */
export type Glob = (path: string) => boolean;

type Step =
  | { kind: 'character'; character: string }
  /** `?`: one character of a name. */
  | { kind: 'any' }
  /** `*`: any characters of a name. */
  | { kind: 'name' }
  /** `**`: any characters. */
  | { kind: 'all' }
  /** `**` before a slash: whole directories, or none. The step behind it is the inside of one. */
  | { kind: 'directories' }
  | { kind: 'directory' };

/**
 * `*` and `?` stay within a name, `**` crosses directories; a pattern without a slash fits any directory.
 * All ways through the pattern are followed at once, so that no pattern can make a path take long.
 */
export function createGlob(glob: string): Glob {
  const whole = glob.includes('/') ? glob.replace(/^\.?\//, '') : `**/${glob}`;
  const steps = stepsOf(whole);
  const start = reachable(steps, new Set([0]));
  return (path) => {
    let places = start;
    for (const character of path.split('')) {
      if (places.size === 0) return false;
      places = reachable(steps, new Set([...places].flatMap((place) => after(steps, place, character))));
    }
    return places.has(steps.length);
  };
}

function stepsOf(glob: string): Step[] {
  return glob.split(/(\*\*\/|\*\*|\*|\?)/).flatMap((piece): Step[] => {
    if (piece === '**/') return [{ kind: 'directories' }, { kind: 'directory' }];
    if (piece === '**') return [{ kind: 'all' }];
    if (piece === '*') return [{ kind: 'name' }];
    if (piece === '?') return [{ kind: 'any' }];
    return piece.split('').map((character) => ({ kind: 'character', character }));
  });
}

/** The places with those to which a wildcard leads that stands for nothing. */
function reachable(steps: readonly Step[], places: Set<number>): Set<number> {
  for (const place of places) {
    const kind = steps[place]?.kind;
    if (kind === 'name' || kind === 'all') places.add(place + 1);
    if (kind === 'directories') places.add(place + 2);
  }
  return places;
}

/** Where a character leads from a place. */
function after(steps: readonly Step[], place: number, character: string): number[] {
  const step = steps[place];
  const inName = character !== '/';
  switch (step?.kind) {
    case 'character':
      return step.character === character ? [place + 1] : [];
    case 'any':
      return inName ? [place + 1] : [];
    case 'name':
      return inName ? [place] : [];
    case 'all':
      return [place];
    case 'directories':
      return inName ? [place + 1] : [];
    case 'directory':
      return [inName ? place : place - 1];
    default:
      return [];
  }
}
