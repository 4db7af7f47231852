import { ChatPage } from './chat/ChatPage.tsx';
import { mountAgentPage } from './shared/mountAgentPage.tsx';

mountAgentPage(<ChatPage />);
