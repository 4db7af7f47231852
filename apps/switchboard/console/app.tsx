import { ConsolePage } from './app/ConsolePage.tsx';
import { mountSwitchboardPage } from './shared/sections.tsx';

mountSwitchboardPage(<ConsolePage />);
