import {
  Button,
  EmptyState,
  IconButton,
  Lamp,
  type LampState,
  Menu,
  PagedItems,
  type PagedList,
  RelativeTime,
  TextField,
} from '@trunkline/ui';
import { Ellipsis, MessageSquarePlus, Trash2 } from 'lucide-react';
import { chatAddress } from './chats.ts';
import type { ChatSummary, TurnState } from './wire.ts';

interface ChatListProps {
  list: PagedList<ChatSummary>;
  current: string;
  search: string;
  onSearch(text: string): void;
  onNew(): void;
  onOpen(): void;
  onForget(chat: ChatSummary): void;
}

/** All conversations, found by their first words. */
export function ChatList({ list, current, search, onSearch, onNew, onOpen, onForget }: ChatListProps) {
  return (
    <div className="flex h-full flex-col gap-3">
      <div className="flex flex-col gap-3 px-3 pt-3">
        <Button icon={<MessageSquarePlus aria-hidden />} onClick={onNew}>
          New chat
        </Button>
        <TextField
          label="Find a chat"
          type="search"
          value={search}
          onChange={(event) => onSearch(event.target.value)}
        />
      </div>
      <nav aria-label="Chats" className="min-h-0 flex-1 overflow-y-auto px-2 pb-3">
        <PagedItems list={list} failed="The chats could not be loaded." empty={<NoChats search={search} />}>
          {(chats) => (
            <ul className="flex flex-col gap-0.5">
              {chats.map((chat) => (
                <Row
                  key={chat.session_id}
                  chat={chat}
                  current={chat.session_id === current}
                  onOpen={onOpen}
                  onForget={() => onForget(chat)}
                />
              ))}
            </ul>
          )}
        </PagedItems>
      </nav>
    </div>
  );
}

function NoChats({ search }: { search: string }) {
  return search === '' ? (
    <EmptyState title="No chats yet" next="What you ask is kept here." />
  ) : (
    <EmptyState title="None found" next="No chat begins with these words. Try others." />
  );
}

interface RowProps {
  chat: ChatSummary;
  current: boolean;
  onOpen(): void;
  onForget(): void;
}

function Row({ chat, current, onOpen, onForget }: RowProps) {
  const lamp = LAMPS[chat.state];
  return (
    <li className="group/chat relative flex items-center rounded-corner hover:bg-hover has-aria-[current=page]:bg-hover">
      <a
        href={chatAddress(chat.session_id)}
        aria-current={current ? 'page' : undefined}
        onClick={onOpen}
        className="flex min-w-0 flex-1 flex-col rounded-corner px-3 py-2 aria-[current=page]:font-medium"
      >
        <span className="truncate">{chat.title}</span>
        <span className="flex items-center gap-2 text-12 font-normal text-muted">
          {lamp && <Lamp state={lamp.state} word={lamp.word} size="small" />}
          <RelativeTime at={chat.updated_at} />
        </span>
      </a>
      <Menu
        trigger={<IconButton small label={`More for ${chat.title}`} icon={<Ellipsis aria-hidden />} />}
        groups={[
          [
            {
              id: 'forget',
              label: 'Forget this chat',
              icon: <Trash2 aria-hidden />,
              danger: true,
              run: onForget,
            },
          ],
        ]}
      />
    </li>
  );
}

const LAMPS: Partial<Record<TurnState, { state: LampState; word: string }>> = {
  working: { state: 'live', word: 'Working' },
  'input-required': { state: 'waiting', word: 'Asks you' },
  'auth-required': { state: 'waiting', word: 'Asks you' },
  failed: { state: 'failed', word: 'Failed' },
};
