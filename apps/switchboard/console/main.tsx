import { StatusPage } from '@trunkline/ui';
import { mountSwitchboardPage, SECTIONS } from './shared/sections.tsx';

mountSwitchboardPage(<StatusPage service="switchboard" labels={{}} sections={SECTIONS} />);
