import type { DescriptionView, PolicyView } from '@trunkline/std';
import { useState } from 'react';
import { Button } from '../../src/components/Button.tsx';
import { Badge } from '../../src/components/Lamp.tsx';
import { Panel } from '../../src/components/Panel.tsx';
import { useSend } from '../../src/hooks/useResource.ts';

interface DescriptionsProps {
  view: PolicyView;
  onAccepted(): void;
}

/** What MCP servers and other agents say about themselves, those first that nobody has accepted. */
export function Descriptions({ view: { descriptions }, onAccepted }: DescriptionsProps) {
  if (descriptions.length === 0) return null;
  const accepted = descriptions.filter(({ state }) => state === 'accepted');
  const open = descriptions.filter(({ state }) => state !== 'accepted');
  return (
    <Panel
      title="Descriptions written by others"
      detail="The model reads what MCP servers and agents say about themselves. Until you accept it, it counts as text from outside: tools with effects ask in every turn. A text that changes later counts as new."
      flush
    >
      <ul>
        {[...open, ...accepted].map((each) => (
          <Description key={`${each.source} ${each.sha256}`} description={each} onAccepted={onAccepted} />
        ))}
      </ul>
    </Panel>
  );
}

const TEXT = 'max-h-64 overflow-y-auto whitespace-pre-wrap break-words font-mono text-muted';

const WORDS = {
  new: { word: 'New', tone: 'waiting' },
  changed: { word: 'Changed since you accepted it', tone: 'failed' },
  accepted: { word: 'Accepted', tone: 'live' },
} as const;

interface DescriptionProps {
  description: DescriptionView;
  onAccepted(): void;
}

function Description({ description, onAccepted }: DescriptionProps) {
  const { kind, source, text, sha256, state } = description;
  const send = useSend();
  const [busy, setBusy] = useState(false);
  const accept = async () => {
    setBusy(true);
    const title = `What ${source} says about itself is accepted.`;
    if (await send('/operator/policy/descriptions', { body: { kind, source, sha256 } }, { title }))
      onAccepted();
    setBusy(false);
  };
  const { word, tone } = WORDS[state];
  return (
    <li className="flex flex-wrap items-start gap-3 border-line border-b px-4 py-3 last:border-b-0">
      <div className="min-w-0 flex-1 basis-64">
        <p className="flex flex-wrap items-center gap-x-3 font-medium">
          {kind === 'agent-card' ? `Agent ${source}` : `MCP server ${source}`}{' '}
          <Badge tone={tone}>{word}</Badge>
        </p>
        <details open={state !== 'accepted'} className="mt-1 text-12">
          <summary>What it says</summary>
          {/* biome-ignore lint/a11y/noNoninteractiveTabindex: it scrolls, also by the keyboard */}
          <pre tabIndex={0} className={TEXT}>
            {text}
          </pre>
        </details>
      </div>
      {state !== 'accepted' && (
        <Button
          size="small"
          busy={busy}
          aria-label={`Accept what ${source} says`}
          onClick={() => void accept()}
        >
          Accept
        </Button>
      )}
    </li>
  );
}
