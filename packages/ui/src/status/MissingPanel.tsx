import { Check } from 'lucide-react';
import { CopyButton } from '../components/CopyButton.tsx';
import { Panel } from '../components/Panel.tsx';
import type { MissingPart } from './health.ts';

/** What to set for full function, variable by variable. */
export function MissingPanel({ missing }: { missing: readonly MissingPart[] }) {
  if (missing.length === 0) {
    return (
      <Panel title="Setup">
        <p className="flex items-center gap-2 text-14">
          <Check aria-hidden className="size-4 text-live-text" />
          Nothing is missing.
        </p>
      </Panel>
    );
  }
  return (
    <Panel title="For full function" detail="It works without these; each one adds something." flush>
      <ul>
        {missing.map((part) => (
          <li
            key={`${part.what} ${part.variable}`}
            className="border-line border-b px-4 py-3 last:border-b-0"
          >
            <p className="font-medium text-14">{part.what}</p>
            {part.hint && <p className="text-12 text-muted">{part.hint}</p>}
            {part.variable && <Variable name={part.variable} />}
          </li>
        ))}
      </ul>
    </Panel>
  );
}

function Variable({ name }: { name: string }) {
  return (
    <p className="mt-2 flex items-center justify-between gap-2 rounded-small bg-sunken pl-2">
      <code className="min-w-0 truncate text-12">{name}</code>
      <CopyButton value={name} label="Copy the variable" />
    </p>
  );
}
