/** One measurement of ours beside the same measurement of each peer, taken in the same run. */
export interface BenchResult {
  name: string;
  unit: string;
  ours: number;
  peers: Record<string, number>;
  /** Ours divided by the best peer; 0 where there is no peer. */
  ratio: number;
  /** Where there are several rounds: between which the ratio lies, in 95 of 100 runs. */
  spread?: [number, number];
  better: 'lower' | 'higher';
  goal?: string;
}
