import { Badge, CodeView, duration, Lamp, type LampState, plural } from '@trunkline/ui';
import { ChevronRight } from 'lucide-react';
import type { ToolEntry } from './wire.ts';

/** The tools that were used one after the other; opens to show what each was given and what it gave. */
export function ToolTimeline({ tools, live }: { tools: readonly ToolEntry[]; live: boolean }) {
  const running = live ? tools.find(({ phase }) => phase === 'started') : undefined;
  const failed = tools.filter(({ phase }) => phase === 'failed').length;
  const names = [...new Set(tools.map(({ name }) => name))].join(', ');
  return (
    <details className="group/timeline max-w-reading rounded-corner border border-line bg-raised">
      <summary className="flex min-h-10 cursor-pointer list-none items-center gap-3 px-3 py-1.5 text-14 transition-colors hover:bg-hover">
        <ChevronRight
          aria-hidden
          className="size-4 shrink-0 text-muted transition-transform group-open/timeline:rotate-90"
        />
        <span className="min-w-0 flex-1 truncate">
          <span className="font-medium">
            {running ? `Using ${running.name}` : `Used ${plural(tools.length, 'tool')}`}
          </span>
          {!running && <span className="ml-2 font-mono text-12 text-muted">{names}</span>}
        </span>
        {running && <Lamp state="waiting" word="Running" />}
        {failed > 0 && <Badge tone="failed">{failed} failed</Badge>}
      </summary>
      <ol className="flex flex-col border-line border-t">
        {tools.map((tool) => (
          <ToolRow key={`${tool.id} ${tool.started_at}`} tool={tool} live={live} />
        ))}
      </ol>
    </details>
  );
}

function ToolRow({ tool, live }: { tool: ToolEntry; live: boolean }) {
  const { state, word } = lampOf(tool, live);
  return (
    <li className="flex flex-col gap-3 border-line border-b px-3 py-3 last:border-b-0">
      <div className="flex items-center gap-3">
        <Lamp state={state} word={word} />
        <span className="min-w-0 flex-1 truncate font-mono text-12">{tool.name}</span>
        {tool.ended_at !== null && (
          <span className="font-mono text-12 text-muted">{duration(tool.ended_at - tool.started_at)}</span>
        )}
      </div>
      {tool.args !== undefined && <CodeView title="Given" code={plainText(tool.args)} wrap />}
      {tool.result !== undefined && <CodeView title="Result" code={plainText(tool.result)} wrap />}
    </li>
  );
}

function lampOf({ phase }: ToolEntry, live: boolean): { state: LampState; word: string } {
  if (phase === 'completed') return { state: 'live', word: 'Done' };
  if (phase === 'failed') return { state: 'failed', word: 'Failed' };
  return live ? { state: 'waiting', word: 'Running' } : { state: 'idle', word: 'Broken off' };
}

function plainText(value: unknown): string {
  return typeof value === 'string' ? value : JSON.stringify(value, null, 2);
}
