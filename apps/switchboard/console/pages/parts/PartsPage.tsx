import { Lamp, type LampState, ListPanel } from '@trunkline/ui';
import { Puzzle } from 'lucide-react';
import { Frame } from '../../app/Frame.tsx';
import { useList } from '../../shared/useList.ts';
import type { PartStatus } from '../../shared/wire.ts';
import { Problems } from './Problems.tsx';

const LAMPS: Record<PartStatus['state'], { lamp: LampState; word: string }> = {
  running: { lamp: 'live', word: 'Runs' },
  waiting: { lamp: 'waiting', word: 'Starts' },
  off: { lamp: 'idle', word: 'Off' },
  failed: { lamp: 'failed', word: 'Failed' },
};

/** The parts of the switchboard: surfaces and what keeps time, and what is wrong with the workspace. */
export default function PartsPage() {
  const list = useList<PartStatus>('/api/plugins', ['system.error', 'config.updated']);
  return (
    <Frame
      title="Parts"
      intro="Surfaces and other parts: which run, which are off, and what switches them on."
    >
      <Problems />
      <ListPanel
        title="Parts"
        what="the parts"
        list={list}
        empty={{ icon: <Puzzle aria-hidden />, title: 'No parts', next: 'Start the switchboard again.' }}
        itemKey={({ name }) => name}
      >
        {({ name, state, words }) => (
          <li className="flex flex-wrap items-center gap-x-4 border-line border-b px-4 py-3 last:border-b-0">
            <span className="w-36 font-medium">{name}</span>
            <Lamp state={LAMPS[state].lamp} word={LAMPS[state].word} className="w-20" />
            <span className="min-w-0 flex-1 basis-56 break-words text-muted">{words}</span>
          </li>
        )}
      </ListPanel>
    </Frame>
  );
}
