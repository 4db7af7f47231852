import { useResource } from '@trunkline/ui';
import { useId } from 'react';
import type { PromptCommand } from '../../routes/mcp.ts';

const SHOWN = 8;

interface PromptMenuProps {
  /** What stands in the message box. */
  text: string;
  onPick(text: string): void;
}

/** Prompts of MCP servers that fit what is typed after a slash. */
export function PromptMenu({ text, onPick }: PromptMenuProps) {
  const title = useId();
  const { body } = useResource<{ prompts: PromptCommand[] }>('/api/mcp/prompts');
  const fitting = (body?.prompts ?? []).filter(({ command }) => command.startsWith(text)).slice(0, SHOWN);
  if (fitting.length === 0) return null;
  return (
    <section aria-labelledby={title} className="border-line border-b pb-1">
      <h3 id={title} className="px-2 text-12 text-muted">
        Prompts of MCP servers
      </h3>
      <ul>
        {fitting.map((prompt) => (
          <li key={prompt.command}>
            <button
              type="button"
              className="flex w-full flex-wrap items-baseline gap-x-3 rounded-small px-2 py-1 text-left hover:bg-sunken focus-visible:bg-sunken"
              onClick={() => onPick(`${prompt.command} ${placesOf(prompt)}`.trimEnd())}
            >
              <code className="text-12">{prompt.command}</code>
              <span className="min-w-0 flex-1 basis-48 truncate text-12 text-muted">
                {prompt.description || prompt.title}
              </span>
            </button>
          </li>
        ))}
      </ul>
    </section>
  );
}

/** Places for the arguments, to be filled in. */
function placesOf({ arguments: fields }: PromptCommand): string {
  return fields
    .map(({ name, required }) => (required ? `${name}=""` : ''))
    .join(' ')
    .trim();
}
