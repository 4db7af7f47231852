import { Badge, SwitchField } from '@trunkline/ui';
import type { ReactNode } from 'react';

interface SwitchRowProps {
  name: string;
  /** Beside the name: lamps, badges. */
  lead?: ReactNode;
  /** Names of the tools that it gives or uses. */
  tools?: readonly string[] | undefined;
  enabled: boolean;
  onEnable(on: boolean): void;
  /** Small buttons at the end. */
  actions?: ReactNode;
  children: ReactNode;
}

/** An entry of a list that is switched on and off. */
export function SwitchRow({ name, lead, tools = [], enabled, onEnable, actions, children }: SwitchRowProps) {
  return (
    <li className="flex flex-wrap items-center gap-3 border-line border-b px-4 py-3 last:border-b-0">
      <div className="min-w-0 flex-1 basis-64">
        <p className="flex items-center gap-3 font-medium">
          {name} {lead}
        </p>
        {children}
        <p className="mt-1 flex flex-wrap gap-1">
          {tools.map((tool) => (
            <Badge key={tool}>{tool}</Badge>
          ))}
        </p>
      </div>
      <SwitchField label={`Use ${name}`} checked={enabled} onChange={onEnable} />
      {actions && <div className="flex">{actions}</div>}
    </li>
  );
}
