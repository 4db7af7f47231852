import { StatusPage } from '@trunkline/ui';
import { mountSwitchboardPage, SECTIONS } from './shared/sections.tsx';

/** What /healthz tells about the bus. */
const LABELS = {
  'bus.problem': 'Bus',
  'bus.engine': 'Bus engine',
  'bus.replicas': 'Copies of the journal',
  'bus.leader': 'Journal led by',
  'bus.peers': 'Journal also on',
};

mountSwitchboardPage(<StatusPage service="switchboard" labels={LABELS} sections={SECTIONS} />);
