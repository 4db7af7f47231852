import { ConsolePage } from './app/ConsolePage.tsx';
import { mountAgentPage } from './shared/mountAgentPage.tsx';

mountAgentPage(<ConsolePage />);
