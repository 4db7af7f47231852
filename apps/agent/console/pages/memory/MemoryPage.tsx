import { suggestions } from '@trunkline/std';
import {
  Badge,
  Button,
  countOf,
  FormDialog,
  IconButton,
  ListPanel,
  RelativeTime,
  SelectField,
  TextField,
  useResource,
  useSend,
} from '@trunkline/ui';
import { Brain, Pencil, Plus, Trash2 } from 'lucide-react';
import { useEffect, useState } from 'react';
import type { Chunk } from '../../../stores/knowledge/knowledge-store.ts';
import { useLive, useLiveList } from '../../app/live.ts';
import { PageFrame } from '../../shared/AgentShell.tsx';

const CONTENT = { type: 'string', title: 'What to remember', maxLength: 100_000 };

const NEW = {
  type: 'object',
  required: ['content', 'domain'],
  properties: {
    content: CONTENT,
    domain: { type: 'string', title: 'Domain', default: 'general' },
    heading: {
      type: 'string',
      title: 'Heading',
      description: 'The same heading again replaces what is there.',
    },
  },
};

const EDIT = { type: 'object', required: ['content'], properties: { content: CONTENT } };

const CALM_MS = 250;
const PARTS = ['memory', 'config'] as const;
const NOTHING = {
  title: 'Nothing is remembered yet',
  next: `Say in the chat: "${suggestions.remember}". Or write it here.`,
};
const NOT_FOUND = { title: 'Nothing was found', next: 'Try other words, or fewer.' };

/** What the agent remembers. */
export default function MemoryPage() {
  const [words, setWords] = useState('');
  const [domain, setDomain] = useState('');
  const [edited, setEdited] = useState<Chunk | 'new' | null>(null);
  const search = useCalm(words.trim());
  const from = domain === '' ? '' : `&domain=${encodeURIComponent(domain)}`;
  const path =
    search === ''
      ? `/api/knowledge/chunks?limit=50${from}`
      : `/api/knowledge/search?k=20&q=${encodeURIComponent(search)}`;
  const list = useLiveList<Chunk>(path, search === '' ? 'chunks' : 'results', PARTS);
  const stats = useResource<{ domains: { domain: string; chunks: number }[] }>('/api/knowledge/stats');
  useLive(PARTS, stats.reload);
  return (
    <PageFrame
      title="Memory"
      intro="What the agent remembers over all chats, found by words and by meaning."
      actions={
        <Button variant="primary" icon={<Plus aria-hidden />} onClick={() => setEdited('new')}>
          Remember something
        </Button>
      }
    >
      <div className="flex flex-wrap gap-4">
        <TextField
          className="min-w-56 flex-1"
          label="Search"
          type="search"
          value={words}
          onChange={(event) => setWords(event.target.value)}
        />
        <SelectField
          className="w-56"
          label="Domain"
          value={domain}
          disabled={search !== ''}
          onChange={(event) => setDomain(event.target.value)}
          options={domainOptions(stats.body?.domains ?? [])}
        />
      </div>
      <ListPanel
        title={search === '' ? 'Remembered' : 'Found'}
        hideTitle
        what="the memory"
        list={list}
        empty={{ icon: <Brain aria-hidden />, ...(search === '' ? NOTHING : NOT_FOUND) }}
        itemKey={({ id }) => id}
      >
        {(chunk) => <Row chunk={chunk} onEdit={() => setEdited(chunk)} />}
      </ListPanel>
      {edited !== null && (
        <ChunkDialog chunk={edited === 'new' ? undefined : edited} onClose={() => setEdited(null)} />
      )}
    </PageFrame>
  );
}

// What is typed counts when the person pauses.
function useCalm(text: string): string {
  const [calm, setCalm] = useState(text);
  useEffect(() => {
    const timer = setTimeout(() => setCalm(text), CALM_MS);
    return () => clearTimeout(timer);
  }, [text]);
  return calm;
}

function domainOptions(domains: readonly { domain: string; chunks: number }[]) {
  const all = domains.reduce((sum, { chunks }) => sum + chunks, 0);
  return [
    { value: '', label: `All domains (${countOf(all)})` },
    ...domains.map(({ domain, chunks }) => ({ value: domain, label: `${domain} (${countOf(chunks)})` })),
  ];
}

function Row({ chunk, onEdit }: { chunk: Chunk; onEdit(): void }) {
  const send = useSend();
  const { content, domain, heading } = chunk;
  const undo = () => void send('/api/knowledge/chunks', { body: { content, domain, heading } });
  const forget = () =>
    void send(`/api/knowledge/chunks/${chunk.id}`, { method: 'DELETE' }, { title: 'Forgotten.', undo });
  return (
    <li className="flex items-start gap-2 border-line border-b px-4 py-3 [contain-intrinsic-size:auto_5rem] [content-visibility:auto] last:border-b-0">
      <div className="min-w-0 flex-1">
        {heading && <p className="font-medium break-words">{heading}</p>}
        <p className="line-clamp-6 whitespace-pre-wrap break-words">{content}</p>
        <p className="mt-1 flex items-center gap-2 text-12 text-muted">
          <Badge>{domain}</Badge>
          <RelativeTime at={chunk.updated_at} />
        </p>
      </div>
      <IconButton small label="Edit" icon={<Pencil aria-hidden />} onClick={onEdit} />
      <IconButton small label="Forget" icon={<Trash2 aria-hidden />} onClick={forget} />
    </li>
  );
}

/** Writes something new into the memory, or mends what is there. */
function ChunkDialog({ chunk, onClose }: { chunk: Chunk | undefined; onClose(): void }) {
  const send = useSend();
  const save = (body: Readonly<Record<string, unknown>>) => {
    const done = { title: 'Remembered.' };
    return chunk === undefined
      ? send('/api/knowledge/chunks', { body }, done)
      : send(`/api/knowledge/chunks/${chunk.id}`, { method: 'PUT', body }, done);
  };
  return (
    <FormDialog
      title={chunk === undefined ? 'Remember something' : 'Edit the memory'}
      schema={chunk === undefined ? NEW : EDIT}
      values={chunk && { content: chunk.content }}
      onClose={onClose}
      onSave={save}
    />
  );
}
