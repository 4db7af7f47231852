import { DemoNote, Mark } from '@trunkline/ui';
import { Brain, CalendarClock, Clock, ListTodo } from 'lucide-react';
import { useServiceHealth } from '../shared/AgentShell.tsx';

const IDEAS = [
  { icon: <Clock aria-hidden />, text: 'What time is it in Tokyo?' },
  { icon: <Brain aria-hidden />, text: 'Remember that my door code is 4711' },
  { icon: <CalendarClock aria-hidden />, text: 'Remind me in one minute to stretch' },
  { icon: <ListTodo aria-hidden />, text: 'Show me a form for name and city' },
];

/** An empty conversation: what one may ask, each a click away. */
export function Welcome({ onAsk }: { onAsk(text: string): void }) {
  const { health } = useServiceHealth();
  return (
    <div className="m-auto flex w-full max-w-xl flex-col items-center gap-6 px-4 py-10 text-center">
      <Mark className="size-12" />
      <div className="flex flex-col items-center gap-2">
        <h2 className="text-28">What shall I do for you?</h2>
        <p className="text-16 text-balance text-muted">
          I use tools, remember what you tell me, and do things later when you ask for it.
        </p>
        <DemoNote health={health} href="/app#/settings" />
      </div>
      <ul className="grid w-full gap-2 sm:grid-cols-2">
        {IDEAS.map(({ icon, text }) => (
          <li key={text}>
            <button
              type="button"
              onClick={() => onAsk(text)}
              className="flex h-full min-h-14 w-full cursor-pointer items-center gap-3 rounded-corner border border-line bg-raised px-4 py-2 text-left transition-colors hover:border-edge hover:bg-hover [&_svg]:size-4 [&_svg]:shrink-0 [&_svg]:text-accent-text"
            >
              {icon}
              {text}
            </button>
          </li>
        ))}
      </ul>
    </div>
  );
}
