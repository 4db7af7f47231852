import { Lamp } from '../components/Lamp.tsx';
import { cn } from '../lib/cn.ts';
import type { ShellService } from './frame.ts';
import { SERVICES } from './services.tsx';

/** One service in the rail or the bottom bar: a link when it runs. */
export function ServiceItem({
  service,
  className,
}: {
  service: ShellService;
  className?: string | undefined;
}) {
  const { title, icon } = SERVICES[service.name];
  const content = (
    <>
      <span className="relative">
        <span className="block [&_svg]:size-5">{icon}</span>
        <Lamp
          state={service.state}
          word={service.word}
          dotOnly
          size="small"
          className="absolute -top-1.5 -right-3.5"
        />
      </span>
      {title}
    </>
  );
  const look = cn(
    'flex flex-col items-center justify-center gap-1 rounded-corner border text-12 transition-colors',
    service.current ? 'border-line bg-raised font-medium text-ink' : 'border-transparent text-muted',
    className,
  );
  if (service.current) {
    return (
      <span aria-current="page" className={look}>
        {content}
      </span>
    );
  }
  if (service.url === undefined) return <span className={look}>{content}</span>;
  return (
    <a href={service.url} className={cn(look, 'hover:bg-hover hover:text-ink')}>
      {content}
    </a>
  );
}
