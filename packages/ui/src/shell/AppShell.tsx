import { lazy, type ReactNode, Suspense, useState } from 'react';
import type { Command } from '../components/CommandPalette.tsx';
import { ShortcutHelp } from '../components/ShortcutHelp.tsx';
import { cn } from '../lib/cn.ts';
import { useHotkeys } from '../lib/hotkey.ts';
import { BottomBar } from './BottomBar.tsx';
import { ErrorBoundary } from './ErrorBoundary.tsx';
import { Notices } from './Notices.tsx';
import type { Place, Section } from './PageFrame.tsx';
import { Rail, SectionList, SectionStrip } from './Rail.tsx';
import { useShellCommands } from './shellCommands.tsx';

export interface AppShellProps extends Place {
  /** The parts of the page; needed only when there are several. */
  sections?: readonly Section[];
  /** What the page can do, for the palette. */
  commands?: readonly Command[];
  /** An Inspector. */
  inspector?: ReactNode;
  children: ReactNode;
}

/** The frame of every page: the services, the sections, the content, and an optional inspector. */
export function AppShell({ sections = [], commands = [], inspector, children, ...place }: AppShellProps) {
  const [open, setOpen] = useState<'palette' | 'shortcuts' | null>(null);
  const close = () => setOpen(null);
  const openPalette = () => setOpen('palette');
  const openShortcuts = () => setOpen('shortcuts');
  const frame = { ...place, sections, openPalette, openShortcuts };
  const shellCommands = useShellCommands(frame);
  useHotkeys([
    { keys: 'mod+k', label: 'Open the command palette', run: openPalette, whileTyping: true },
    { keys: '?', label: 'Show the keyboard shortcuts', run: openShortcuts },
  ]);
  return (
    <div
      className={cn(
        'flex min-h-dvh flex-col md:flex-row',
        sections.length > 1 && 'max-md:[--section-bar:2.75rem]',
      )}
    >
      <SkipLink />
      <Rail {...frame} />
      {sections.length > 1 && (
        <>
          <SectionList {...frame} />
          <SectionStrip {...frame} />
        </>
      )}
      <main id="content" tabIndex={-1} className="min-w-0 flex-1 outline-none">
        <Notices />
        <ErrorBoundary>{children}</ErrorBoundary>
      </main>
      {inspector}
      <BottomBar {...frame} />
      {open === 'palette' && (
        <Suspense>
          <CommandPalette open onClose={close} commands={[...commands, ...shellCommands]} />
        </Suspense>
      )}
      <ShortcutHelp open={open === 'shortcuts'} onClose={close} />
    </div>
  );
}

// Loaded when it is first opened.
const CommandPalette = lazy(async () => {
  const { CommandPalette: Palette } = await import('../components/CommandPalette.tsx');
  return { default: Palette };
});

// A button, since a link would change the address, which pages may keep their route in.
function SkipLink() {
  return (
    <button
      type="button"
      onClick={() => document.getElementById('content')?.focus()}
      className="fixed top-2 left-2 z-60 -translate-y-16 rounded-corner bg-ink px-4 py-2 font-medium text-paper focus:translate-y-0"
    >
      Skip to the content
    </button>
  );
}
