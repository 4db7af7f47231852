import { Button, hashRoute, TextField, useHashRoute } from '@trunkline/ui';
import { Pause, Play } from 'lucide-react';
import { useState } from 'react';
import { Frame } from '../../shared/sections.tsx';
import { MessageList, useFeed } from './MessageRow.tsx';

export default function FeedPage() {
  const [, topic = '', correlationId = ''] = useHashRoute();
  const { list, paused, held, pause } = useFeed({ topic, correlationId });
  const filtered = topic !== '' || correlationId !== '';
  return (
    <Frame
      title="Feed"
      intro="What passes over the bus, the newest first. What is journalled stays for seven days."
      actions={
        <Button
          icon={paused ? <Play aria-hidden /> : <Pause aria-hidden />}
          aria-pressed={paused}
          onClick={() => pause(!paused)}
        >
          {paused ? `Resume${held > 0 ? ` (${held} new)` : ''}` : 'Pause'}
        </Button>
      }
    >
      <Filters key={`${topic} ${correlationId}`} topic={topic} correlationId={correlationId} />
      <MessageList
        title={filtered ? 'Messages that fit' : 'Messages'}
        hideTitle
        list={list}
        empty={[
          filtered ? 'No message fits yet' : 'Nothing has passed yet',
          filtered
            ? 'It shows here as soon as one comes. In patterns, * is one part and # is all that follow.'
            : 'Send a message to an agent under Agents, or publish one with POST /publish.',
        ]}
      />
    </Frame>
  );
}

// Filters are in the address, so that other pages can link to them.
function Filters(given: { topic: string; correlationId: string }) {
  const [topic, setTopic] = useState(given.topic);
  const [correlationId, setCorrelationId] = useState(given.correlationId);
  const changed = topic !== given.topic || correlationId !== given.correlationId;
  const apply = () => {
    const parts = correlationId.trim() === '' ? [topic.trim()] : [topic.trim() || '#', correlationId.trim()];
    window.location.hash = hashRoute('feed', ...parts.filter((part) => part !== ''));
  };
  return (
    <form
      className="flex flex-wrap items-end gap-3"
      onSubmit={(event) => {
        event.preventDefault();
        apply();
      }}
    >
      <TextField
        className="min-w-0 flex-1 basis-56"
        label="Topic pattern"
        placeholder="message.#"
        mono
        autoCapitalize="off"
        spellCheck={false}
        value={topic}
        onChange={(event) => setTopic(event.target.value)}
      />
      <TextField
        className="min-w-0 flex-1 basis-56"
        label="Correlation"
        placeholder="any"
        mono
        autoCapitalize="off"
        spellCheck={false}
        value={correlationId}
        onChange={(event) => setCorrelationId(event.target.value)}
      />
      <Button type="submit" variant="primary" disabled={!changed}>
        Filter
      </Button>
    </form>
  );
}
