import { StatusPage } from '@trunkline/ui';
import { mountSwitchboardPage } from './shared/mountSwitchboardPage.tsx';
import { SECTIONS } from './shared/sections.tsx';

mountSwitchboardPage(<StatusPage service="switchboard" labels={{}} sections={SECTIONS} />);
