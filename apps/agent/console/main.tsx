import { LiveProvider } from './app/live.ts';
import { ChatPage } from './chat/ChatPage.tsx';
import { mountAgentPage } from './shared/AgentShell.tsx';

mountAgentPage(
  <LiveProvider>
    <ChatPage />
  </LiveProvider>,
);
