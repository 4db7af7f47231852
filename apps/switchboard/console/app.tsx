import { ConsolePage } from './app/ConsolePage.tsx';
import { mountSwitchboardPage } from './shared/mountSwitchboardPage.tsx';

mountSwitchboardPage(<ConsolePage />);
