import { Keyboard } from 'lucide-react';
import type { Command } from '../components/CommandPalette.tsx';
import { THEME_ICONS, THEME_LABELS } from '../components/ThemeToggle.tsx';
import { THEME_CHOICES, useTheme } from '../hooks/useTheme.ts';
import { operatorWords, useOperator } from '../operator/OperatorProvider.tsx';
import { SETUP } from '../setup/SetupOffer.tsx';
import { type Frame, shellServices } from './PageFrame.tsx';
import { HELP, openHelp, TRUST } from './Rail.tsx';
import { SERVICES } from './services.tsx';

/** What every page can do: go to a section or a service, change the theme, show the shortcuts. */
export function useShellCommands(frame: Frame): Command[] {
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
