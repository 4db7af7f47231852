import { Keyboard } from 'lucide-react';
import { lazy, type ReactNode, Suspense, useEffect, useRef, useState } from 'react';
import { buttonClass } from '../components/Button.tsx';
import type { Command } from '../components/CommandPalette.tsx';
import { Lamp } from '../components/Lamp.tsx';
import { ShortcutHelp } from '../components/ShortcutHelp.tsx';
import { THEME_ICONS, THEME_LABELS } from '../components/ThemeToggle.tsx';
import { THEME_CHOICES, useTheme } from '../hooks/useTheme.ts';
import { cn } from '../lib/cn.ts';
import { useHotkeys } from '../lib/hotkey.ts';
import { OperatorBanner, operatorWords, useOperator } from '../operator/OperatorProvider.tsx';
import { SETUP, SetupOffer } from '../setup/SetupOffer.tsx';
import { useHealth } from '../status/health.ts';
import { BottomBar } from './BottomBar.tsx';
import { ErrorBoundary } from './ErrorBoundary.tsx';
import { useKeptFocus, usePageTitle } from './navigation.ts';
import { type Frame, type Place, type Section, shellServices } from './PageFrame.tsx';
import { HELP, openHelp, Rail, SectionList, SectionStrip, TRUST } from './Rail.tsx';
import { SERVICES } from './services.tsx';

export interface AppShellProps extends Place {
  /** The parts of the page; needed only when there are several. */
  sections?: readonly Section[];
  /** What the page can do, for the palette. */
  commands?: readonly Command[];
  /** An Inspector. */
  inspector?: ReactNode;
  children: ReactNode;
}

const CONTENT_ID = 'content';

/** The frame of every page: the services, the sections, the content, and an optional inspector. */
export function AppShell({ sections = [], commands = [], inspector, children, ...place }: AppShellProps) {
  const [open, setOpen] = useState<'palette' | 'shortcuts' | null>(null);
  const close = () => setOpen(null);
  const openPalette = () => setOpen('palette');
  const openShortcuts = () => setOpen('shortcuts');
  const frame = { ...place, sections, openPalette, openShortcuts };
  const shellCommands = useShellCommands(frame);
  usePageTitle(place, sections);
  useKeptFocus(CONTENT_ID);
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
      <main id={CONTENT_ID} tabIndex={-1} className="min-w-0 flex-1 outline-none">
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
      onClick={() => document.getElementById(CONTENT_ID)?.focus()}
      className="fixed top-2 left-2 z-60 -translate-y-16 rounded-corner bg-ink px-4 py-2 font-medium text-paper focus:translate-y-0"
    >
      Skip to the content
    </button>
  );
}

/** What concerns the whole page, above its content. Pages of a fixed height leave `--notices` free for it. */
function Notices() {
  const box = useRef<HTMLDivElement>(null);
  useEffect(() => {
    const element = box.current;
    if (element === null) return;
    const root = document.documentElement.style;
    const observer = new ResizeObserver(() => root.setProperty('--notices', `${element.offsetHeight}px`));
    observer.observe(element);
    return () => {
      observer.disconnect();
      root.removeProperty('--notices');
    };
  }, []);
  return (
    // A grid keeps the margins of what is inside within its own height.
    <div ref={box} className="grid">
      <ModelBanner />
      <OperatorBanner />
      <SetupOffer />
    </div>
  );
}

/** Says why the model cannot be used, and where to set another. */
function ModelBanner() {
  const problem = useHealth().health?.model?.problem;
  if (problem === undefined) return null;
  return (
    <section
      aria-label="Model"
      role="status"
      className="m-4 flex flex-wrap items-center gap-x-4 gap-y-2 rounded-corner bg-failed-wash px-4 py-3 sm:mx-8"
    >
      <Lamp state="failed" dotOnly word="Model problem" />
      <p className="min-w-0 flex-1 basis-64 break-words text-14">{problem}</p>
      <a href="/setup" className={buttonClass({ size: 'small' })}>
        Set up the model
      </a>
    </section>
  );
}

/** What every page can do: go to a section or a service, change the theme, show the shortcuts. */
function useShellCommands(frame: Frame): Command[] {
  const { choose } = useTheme();
  const themes = THEME_CHOICES.map((choice) => ({
    id: `theme-${choice}`,
    label: `Theme: ${THEME_LABELS[choice].toLowerCase()}`,
    group: 'Appearance',
    icon: THEME_ICONS[choice],
    run: () => choose(choice),
  }));
  const shortcuts: Command = {
    id: 'shortcuts',
    label: 'Show the keyboard shortcuts',
    group: 'Help',
    icon: <Keyboard aria-hidden />,
    keys: '?',
    run: frame.openShortcuts,
  };
  const help: Command = {
    id: 'help',
    label: 'Open the documentation',
    group: 'Help',
    icon: HELP.icon,
    keywords: ['help', 'guide', 'manual', 'docs'],
    run: openHelp,
  };
  return [
    ...sectionCommands(frame),
    ...serviceCommands(frame),
    ...useOperatorCommand(),
    ...themes,
    help,
    shortcuts,
  ];
}

function useOperatorCommand(): Command[] {
  const { status, ask } = useOperator();
  const words = operatorWords(status);
  const signIn = words && { ...words, keywords: ['login', 'logout', 'key'], run: () => void ask() };
  const trust = status.service && {
    label: 'Open Trust',
    icon: TRUST.icon,
    keywords: ['people', 'accounts', 'policy', 'audit', 'secrets', 'posture', 'security'],
    run: () => window.location.assign(TRUST.href),
  };
  const setup = status.service && {
    label: 'Open Setup',
    icon: SETUP.icon,
    keywords: ['settings', 'options', 'model', 'provider', 'key', 'voice', 'search', 'connector', 'wizard'],
    run: () => window.location.assign(SETUP.href),
  };
  return [
    ...(setup ? [{ id: 'setup', group: 'Operator', ...setup }] : []),
    ...(trust ? [{ id: 'trust', group: 'Operator', ...trust }] : []),
    ...(signIn ? [{ id: 'operator', group: 'Operator', ...signIn }] : []),
  ];
}

function sectionCommands({ sections }: Frame): Command[] {
  return sections.map(({ id, label, icon, href }) => ({
    id: `section-${id}`,
    label: `Go to ${label}`,
    group: 'Sections',
    icon,
    run: () => window.location.assign(href),
  }));
}

function serviceCommands(frame: Frame): Command[] {
  return shellServices(frame).flatMap(({ name, url }) => {
    const { title, icon, brief } = SERVICES[name];
    if (url === undefined) return [];
    const run = () => window.location.assign(url);
    return [
      { id: `service-${name}`, label: `Open ${title}`, group: 'Services', icon, keywords: [brief], run },
    ];
  });
}
