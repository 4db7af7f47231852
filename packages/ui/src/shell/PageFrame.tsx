import type { ReactNode } from 'react';
import type { StreamState } from '../api/eventStream.ts';
import { Lamp, type LampState } from '../components/Lamp.tsx';
import { cn } from '../lib/cn.ts';
import { SERVICE_NAMES, type ServiceLink, type ServiceName } from './services.tsx';

const STATE_WORDS: Record<LampState, string> = {
  live: 'Live',
  done: 'Done',
  waiting: 'Not ready',
  failed: 'Failed',
  idle: 'Idle',
};

export interface PageFrameProps {
  title: string;
  /** One sentence on what this part is for. */
  intro: ReactNode;
  /** The line on which changes come. */
  stream: StreamState;
  /** Buttons at the right of the title. */
  actions?: ReactNode;
  /** An Inspector. */
  inspector?: ReactNode;
  /** Takes the whole width, as a board does. */
  wide?: boolean;
  children: ReactNode;
}

/** Width and left edge of every page. */
export const PAGE = 'flex w-full min-w-0 max-w-5xl flex-col gap-6 px-4 py-6 sm:px-8';

/** A part of a console: its title, what it is for, and its content. */
export function PageFrame({
  title,
  intro,
  stream,
  actions,
  inspector,
  wide = false,
  children,
}: PageFrameProps) {
  return (
    <div className="flex items-start">
      <div className={cn(PAGE, 'flex-1', wide && 'max-w-none')}>
        <header className="flex flex-wrap items-end gap-x-6 gap-y-3">
          <div className="min-w-0 flex-1 basis-72">
            <div className="flex flex-wrap items-center gap-x-4">
              <h1 title={title} className="line-clamp-3 text-28 break-words">
                {title}
              </h1>
              <LiveLamp name={stream.name} />
            </div>
            <p className="text-muted">{intro}</p>
          </div>
          {actions && <div className="flex flex-wrap items-end gap-2">{actions}</div>}
        </header>
        {children}
      </div>
      {inspector}
    </div>
  );
}

function LiveLamp({ name }: Pick<StreamState, 'name'>) {
  if (name === 'open') return <Lamp state="live" />;
  return (
    <Lamp
      state={name === 'refused' ? 'failed' : 'waiting'}
      word={name === 'refused' ? 'Not live' : 'Connecting'}
    />
  );
}

/** Where a page is in the exchange. */
export interface Place {
  /** Whose page this is. */
  service: ServiceName;
  /** How it is. */
  state: LampState;
  /** The services that run together with it; undefined while that is not known. */
  services: readonly ServiceLink[] | undefined;
  /** The id of the section that is shown. */
  currentSection?: string;
  /** Where the service's own pages are, for a page that is none of them. */
  home?: string;
}

export interface Section {
  id: string;
  label: string;
  icon: ReactNode;
  href: string;
  /** The heading that it stands under; sections of one group follow each other. */
  group?: string;
}

/** Sections under their headings, in the order of the list. */
export function sectionGroups(
  sections: readonly Section[],
): { title: string | undefined; sections: Section[] }[] {
  const groups: { title: string | undefined; sections: Section[] }[] = [];
  for (const section of sections) {
    const last = groups.at(-1);
    if (last && last.title === section.group) last.sections.push(section);
    else groups.push({ title: section.group, sections: [section] });
  }
  return groups;
}

/** What the parts of the shell know. */
export interface Frame extends Place {
  sections: readonly Section[];
  openPalette(): void;
  openShortcuts(): void;
}

export interface ShellService extends ServiceLink {
  current: boolean;
  /** The state in words. */
  word: string;
}

/** All four services in their order, with what is known of each. */
export function shellServices({ service, state, services, home }: Place): ShellService[] {
  return SERVICE_NAMES.map((name) => {
    if (name === service)
      return { name, url: home, state, current: home === undefined, word: STATE_WORDS[state] };
    const found = services?.find((link) => link.name === name);
    if (found?.url !== undefined && found.state !== 'idle')
      return { ...found, current: false, word: STATE_WORDS[found.state] };
    const word = services === undefined ? 'Not known' : found ? 'Not running' : 'Not running here';
    return { name, url: undefined, state: 'idle', current: false, word };
  });
}
