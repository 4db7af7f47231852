import { cn } from '../lib/cn.ts';
import type { Frame } from './frame.ts';
import { SERVICES } from './services.tsx';

/** The sections of a page that has several, beside the rail. */
export function SectionList({ service, sections, currentSection }: Frame) {
  return (
    <nav
      aria-label="Sections"
      className="sticky top-0 hidden h-dvh w-48 shrink-0 flex-col overflow-y-auto border-line border-r p-3 md:flex"
    >
      <p className="px-3 pt-2 pb-3 font-semibold text-16">{SERVICES[service].title}</p>
      <ul className="flex flex-col gap-0.5">
        {sections.map((section) => (
          <li key={section.id}>
            <a
              href={section.href}
              aria-current={section.id === currentSection ? 'page' : undefined}
              className={cn(
                'flex h-9 items-center gap-3 rounded-corner px-3 text-muted transition-colors hover:bg-hover hover:text-ink [&_svg]:size-4',
                'aria-[current=page]:bg-hover aria-[current=page]:font-medium aria-[current=page]:text-ink',
              )}
            >
              {section.icon}
              {section.label}
            </a>
          </li>
        ))}
      </ul>
    </nav>
  );
}
