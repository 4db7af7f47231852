import { ConsolePage } from './app/ConsolePage.tsx';
import { mountAgentPage } from './shared/AgentShell.tsx';

mountAgentPage(<ConsolePage />);
