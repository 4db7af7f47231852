import {
  Badge,
  Button,
  type Command,
  ConfirmDialog,
  Inspector,
  Sheet,
  useHashRoute,
  useHotkeys,
  useMediaQuery,
  useSend,
} from '@trunkline/ui';
import { Activity as ActivityIcon, MessageSquarePlus, PanelLeft } from 'lucide-react';
import { type ReactNode, useCallback, useState } from 'react';
import { consolePages } from '../app/console-pages.tsx';
import { ActivityList, useActivity } from '../shared/ActivityList.tsx';
import { AgentShell } from '../shared/AgentShell.tsx';
import { ChatList, chatAddress, newSessionId, useChats, useSource } from './ChatList.tsx';
import { ConversationView } from './ConversationView.tsx';
import { useConversation } from './useConversation.ts';
import type { ChatSummary } from './wire.ts';

/** The page at "/": talk to the agent. */
export function ChatPage() {
  const [, named, place] = useHashRoute();
  const [fallback, setFallback] = useState(newSessionId);
  const sessionId = named ?? fallback;
  const [search, setSearch] = useState('');
  const [from, setFrom] = useSource();
  const chats = useChats(search, from);
  const activity = useActivity();
  const [showActivity, setShowActivity] = useState(false);
  const [showChats, setShowChats] = useState(false);
  const [forgetting, setForgetting] = useState<ChatSummary | null>(null);
  const hideChats = useCallback(() => setShowChats(false), []);
  const startNew = useCallback(() => {
    setFallback(newSessionId());
    window.location.hash = '';
    hideChats();
  }, [hideChats]);
  const forget = useForget(chats.reload, (gone) => gone === sessionId && startNew());
  const openChat = (step: number) => {
    const listed = chats.items ?? [];
    const next = listed[listed.findIndex(({ session_id }) => session_id === sessionId) + step];
    if (next) window.location.hash = chatAddress(next.session_id);
  };
  useHotkeys([
    { keys: 'n', label: 'Begin a new chat', run: startNew },
    { keys: 'j', label: 'Next chat', run: () => openChat(1) },
    { keys: 'k', label: 'Previous chat', run: () => openChat(-1) },
  ]);

  const onChange = () => {
    if (named === undefined) window.history.replaceState(null, '', chatAddress(sessionId));
    chats.reload();
  };
  const onBranch = () => {
    if (place !== undefined) window.location.hash = chatAddress(sessionId);
  };
  const conversation = useConversation(sessionId, place, onChange, onBranch);
  const list = (
    <ChatList
      list={chats}
      current={sessionId}
      search={search}
      onSearch={setSearch}
      from={from}
      onFrom={setFrom}
      onNew={startNew}
      onOpen={hideChats}
      onForget={setForgetting}
    />
  );
  const listed = chats.items?.find(({ session_id }) => session_id === sessionId);
  const title = listed?.title ?? conversation.title ?? 'New chat';
  return (
    <AgentShell
      pages={consolePages}
      section="chat"
      commands={commandsOf(startNew, () => setShowActivity(true))}
      inspector={
        <Inspector open={showActivity} onClose={() => setShowActivity(false)} title="Activity">
          <ActivityList activity={activity} />
        </Inspector>
      }
    >
      <div className="flex h-[calc(100dvh-var(--bottom-bar)-var(--section-bar)-var(--notices,0px))]">
        <ChatColumn open={showChats} onClose={hideChats}>
          {list}
        </ChatColumn>
        <div className="flex min-w-0 flex-1 flex-col">
          <header className="flex min-h-13 items-center gap-2 border-line border-b px-4">
            <Button
              className="xl:hidden"
              variant="quiet"
              size="small"
              icon={<PanelLeft aria-hidden />}
              onClick={() => setShowChats(true)}
            >
              Chats
            </Button>
            <h1 className="min-w-0 flex-1 truncate text-16">{title}</h1>
            <Button
              variant="quiet"
              size="small"
              icon={<ActivityIcon aria-hidden />}
              onClick={() => setShowActivity((shown) => !shown)}
            >
              Activity
              {activity.fresh > 0 && <Badge tone="accent">{activity.fresh}</Badge>}
            </Button>
          </header>
          <ConversationView
            sessionId={sessionId}
            conversation={conversation}
            found={place === undefined ? undefined : { taskId: place, words: search }}
          />
        </div>
      </div>
      <ConfirmDialog
        open={forgetting !== null}
        title={`Forget the chat “${forgetting?.title ?? ''}”?`}
        detail="What was said in it is deleted, and what runs in it is stopped. What the agent was told to remember stays in its memory."
        action="Forget"
        onCancel={() => setForgetting(null)}
        onConfirm={() => {
          if (forgetting) void forget(forgetting.session_id);
          setForgetting(null);
        }}
      />
    </AgentShell>
  );
}

// A column where there is room for one, else a sheet.
function ChatColumn({ open, onClose, children }: { open: boolean; onClose(): void; children: ReactNode }) {
  const wide = useMediaQuery('(min-width: 80rem)');
  if (wide) return <div className="w-60 shrink-0 border-line border-r">{children}</div>;
  return (
    <Sheet open={open} onClose={onClose} title="Chats">
      {children}
    </Sheet>
  );
}

function useForget(reload: () => void, onGone: (sessionId: string) => void) {
  const send = useSend();
  return async (sessionId: string) => {
    const path = `/api/chat/sessions/${encodeURIComponent(sessionId)}`;
    if (await send(path, { method: 'DELETE' }, { title: 'Chat forgotten.' })) onGone(sessionId);
    reload();
  };
}

function commandsOf(startNew: () => void, openActivity: () => void): Command[] {
  return [
    {
      id: 'new-chat',
      label: 'Begin a new chat',
      group: 'Chat',
      icon: <MessageSquarePlus aria-hidden />,
      keys: 'n',
      run: startNew,
    },
    {
      id: 'activity',
      label: 'Show the activity',
      group: 'Chat',
      icon: <ActivityIcon aria-hidden />,
      keywords: ['inbox', 'schedule', 'feed'],
      run: openActivity,
    },
  ];
}
