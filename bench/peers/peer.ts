import type { Group } from './processes.ts';

/** A product that is measured: one file with one of these, and one line in list.ts. */
export interface Peer {
  name: string;
  /** The name on the command line: npm run bench:peers -- mastra. */
  id: string;
  /** What one unit of work is: an agent's turn with one call of a tool, a message to a handler and back, a spoken turn. */
  kind: 'agent' | 'bus' | 'voice';
  /** The npm package whose version is shown. */
  package: string;
  /** Folder whose lock file pins the package, seen from here; '../..' is this repository. */
  folder: string;
  /** Programs that Debian ships and npm does not install. */
  needs: readonly string[];
  /** What one has to know to install it. */
  install: string;
  /** What of an answered unit of work is on disk. */
  durability: string;
  /** To whom the comparison is unfair, and why. */
  unfair: string;
  /** Runs only when the command line names it: its install is large. */
  optional?: true;
  /** Units of work after the warm-up, where the usual number takes too long. */
  units?: number;
  /** Units of work at once; 8 where not given. */
  atOnce?: number;
  /** Packages whose install scripts must run (a native build); those of all others are left out. */
  rebuild?: readonly string[];
  /** Untimed, before every start. */
  prepare?: (place: Place) => Promise<void>;
  start(place: Place): Promise<Started>;
}

export interface Place {
  /** Everything that the product runs is started here. */
  processes: Group;
  /** Empty at the first start, the same folder at every later one. */
  home: string;
  /** Address of the fake OpenAI-compatible gateway, with /v1; agents only. */
  gateway: string;
}

export interface Started {
  /** One unit of work, checked; gives what identifies it. */
  work(): Promise<string>;
  /** Whether an answered unit is still known; undefined where the product keeps none. */
  isKept?: (receipt: string) => Promise<boolean>;
  /** Milliseconds from the end of speech to the first frame of the answer, for each unit so far; voice only. */
  delays?: () => number[];
}
