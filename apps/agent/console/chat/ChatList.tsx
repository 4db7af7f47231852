import {
  Badge,
  Button,
  EmptyState,
  ErrorState,
  hashRoute,
  IconButton,
  Lamp,
  type LampState,
  Menu,
  PagedItems,
  type PagedList,
  RelativeTime,
  randomId,
  readStored,
  SelectField,
  TextField,
  useResource,
  writeStored,
} from '@trunkline/ui';
import { Ellipsis, MessageSquarePlus, Trash2 } from 'lucide-react';
import { memo, useState } from 'react';
import { useLiveList } from '../app/live.ts';
import { type ChatPlace, type ChatSource, type ChatSummary, originWord, type TurnState } from './wire.ts';

const SOURCES: readonly { value: ChatSource; label: string }[] = [
  { value: 'all', label: 'Anyone' },
  { value: 'people', label: 'People' },
  { value: 'a2a', label: 'Agents and programs' },
  { value: 'inbox', label: 'The inbox' },
];

const KEPT = 'trunkline.agent.chats-from';

interface ChatListProps {
  list: PagedList<ChatSummary>;
  current: string;
  search: string;
  onSearch(text: string): void;
  from: ChatSource;
  onFrom(from: ChatSource): void;
  onNew(): void;
  onOpen(): void;
  onForget(chat: ChatSummary): void;
}

/** Conversations, searchable by their first words, by what was said in them and by source. */
export function ChatList({ list, current, onNew, onOpen, onForget, ...filter }: ChatListProps) {
  const { search, onSearch, from, onFrom } = filter;
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
        <SelectField
          label="Started by"
          value={from}
          options={SOURCES}
          onChange={(event) => onFrom(event.target.value as ChatSource)}
        />
      </div>
      <div className="min-h-0 flex-1 overflow-y-auto px-2 pb-3">
        <nav aria-label="Chats">
          <PagedItems
            list={list}
            failed="The chats could not be loaded."
            empty={<NoChats search={search} from={from} />}
          >
            {(chats) => (
              <ul className="flex flex-col gap-0.5">
                {chats.map((chat) => (
                  <Row
                    key={chat.session_id}
                    chat={chat}
                    current={chat.session_id === current}
                    onOpen={onOpen}
                    onForget={onForget}
                  />
                ))}
              </ul>
            )}
          </PagedItems>
        </nav>
        {search.trim().length > 1 && <Places words={search.trim()} onOpen={onOpen} />}
      </div>
    </div>
  );
}

/** Where the words were said, whatever the chats are named. */
function Places({ words, onOpen }: { words: string; onOpen(): void }) {
  const { body, error } = useResource<{ places: ChatPlace[] }>(
    `/api/chat/search?q=${encodeURIComponent(words)}`,
  );
  if (error)
    return <ErrorState what="The messages could not be searched." why={error.message} todo={error.advice} />;
  if (!body || body.places.length === 0) return null;
  return (
    <section aria-label="In messages" className="mt-3 flex flex-col gap-0.5">
      <h2 className="px-3 text-12 text-muted">In messages</h2>
      <ul className="flex flex-col gap-0.5">
        {body.places.map(({ session_id, title, task_id, before, match, after }) => (
          <li key={task_id}>
            <a
              href={hashRoute('chat', session_id, task_id)}
              onClick={onOpen}
              className="flex min-w-0 flex-col rounded-corner px-3 py-2 hover:bg-hover"
            >
              <span className="truncate">{title}</span>
              <span className="line-clamp-2 text-12 break-words text-muted">
                {before}
                <mark className="rounded-sm bg-accent-wash text-ink">{match}</mark>
                {after}
              </span>
            </a>
          </li>
        ))}
      </ul>
    </section>
  );
}

function NoChats({ search, from }: { search: string; from: ChatSource }) {
  if (search !== '')
    return (
      <EmptyState
        title="None found"
        next="No chat has these words in its title. What was said is listed below."
      />
    );
  return from === 'all' ? (
    <EmptyState title="No chats yet" next="What you ask is kept here." />
  ) : (
    <EmptyState title="None of these" next="Chats that others began are listed under Anyone." />
  );
}

interface RowProps {
  chat: ChatSummary;
  current: boolean;
  onOpen(): void;
  onForget(chat: ChatSummary): void;
}

/** Memoised: the page is drawn for every piece of an answer, and a menu and a tooltip for each chat take longer than the rest. */
const Row = memo(function Row({ chat, current, onOpen, onForget }: RowProps) {
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
        <span className="flex flex-wrap items-center gap-x-2 gap-y-0.5 text-12 font-normal text-muted">
          {lamp && <Lamp state={lamp.state} word={lamp.word} size="small" />}
          <RelativeTime at={chat.updated_at} />
          {chat.origin !== 'chat' && <Badge>{originWord(chat.origin)}</Badge>}
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
              run: () => onForget(chat),
            },
          ],
        ]}
      />
    </li>
  );
});

const LAMPS: Partial<Record<TurnState, { state: LampState; word: string }>> = {
  working: { state: 'live', word: 'Working' },
  'input-required': { state: 'waiting', word: 'Asks you' },
  'auth-required': { state: 'waiting', word: 'Asks you' },
  failed: { state: 'failed', word: 'Failed' },
};

/** Conversations of a source, the newest first, filtered by their first words. */
export function useChats(search: string, from: ChatSource): PagedList<ChatSummary> {
  const path = `/api/chat/sessions?limit=30&from=${from}&q=${encodeURIComponent(search)}`;
  return useLiveList(path, 'sessions', ['tasks']);
}

/** Whose conversations are shown; the choice outlasts the page. */
export function useSource(): [ChatSource, (from: ChatSource) => void] {
  const [from, setFrom] = useState(
    () => SOURCES.find(({ value }) => value === readStored(KEPT))?.value ?? 'all',
  );
  const choose = (chosen: ChatSource) => {
    writeStored(KEPT, chosen);
    setFrom(chosen);
  };
  return [from, choose];
}

export function chatAddress(sessionId: string): string {
  return hashRoute('chat', sessionId);
}

/** An id for a new conversation. */
export function newSessionId(): string {
  return `chat-${randomId()}`;
}
