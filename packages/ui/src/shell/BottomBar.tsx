import { Ellipsis, Search } from 'lucide-react';
import { type ReactNode, useState } from 'react';
import { Button } from '../components/Button.tsx';
import { Sheet } from '../components/Dialog.tsx';
import { Lamp } from '../components/Lamp.tsx';
import { THEME_ICONS, THEME_LABELS } from '../components/ThemeToggle.tsx';
import { THEME_CHOICES, useTheme } from '../hooks/useTheme.ts';
import { cn } from '../lib/cn.ts';
import { operatorWords, useOperator } from '../operator/OperatorProvider.tsx';
import { SETUP } from '../setup/SetupOffer.tsx';
import { type Frame, sectionGroups, shellServices } from './PageFrame.tsx';
import { HELP, ServiceItem, TRUST, WaitingPairings } from './Rail.tsx';
import { SERVICES } from './services.tsx';

/** The rail of a phone, the same on every page: the services, and everything else under More. */
export function BottomBar(frame: Frame) {
  const [open, setOpen] = useState(false);
  return (
    <nav
      aria-label="Services"
      className="sticky bottom-0 z-30 h-(--bottom-bar) border-line border-t bg-sunken px-1 pb-[env(safe-area-inset-bottom)] md:hidden"
    >
      <ul className="grid grid-cols-5 gap-1 py-1">
        {shellServices(frame).map((service) => (
          <li key={service.name}>
            <ServiceItem service={service} className="h-14 w-full" />
          </li>
        ))}
        <li>
          <button
            type="button"
            onClick={() => setOpen(true)}
            className="flex h-14 w-full cursor-pointer flex-col items-center justify-center gap-1 rounded-corner text-12 text-muted"
          >
            <Ellipsis aria-hidden className="size-5" />
            <span className="flex items-center gap-1">
              More
              <WaitingPairings />
            </span>
          </button>
        </li>
      </ul>
      <MoreSheet open={open} onClose={() => setOpen(false)} frame={frame} />
    </nav>
  );
}

interface MoreSheetProps {
  open: boolean;
  onClose(): void;
  frame: Frame;
}

const ROW = 'flex h-12 items-center gap-3 rounded-corner px-3 text-16 [&_svg]:size-5';

/** What has no place in the bottom bar of a phone. */
function MoreSheet({ open, onClose, frame }: MoreSheetProps) {
  const openPalette = () => {
    onClose();
    frame.openPalette();
  };
  return (
    <Sheet open={open} onClose={onClose} title="More">
      <div className="flex flex-col gap-6">
        {frame.sections.length > 1 && <SectionLinks {...frame} onClose={onClose} />}
        <ServiceLinks {...frame} />
        <ThemeChoices />
        <OperatorRow onClose={onClose} />
        <Group title={HELP.label}>
          <li>
            <a href={HELP.href} className={ROW}>
              {HELP.icon}
              Documentation
            </a>
          </li>
        </Group>
        <Button icon={<Search aria-hidden />} onClick={openPalette}>
          Find a command
        </Button>
      </div>
    </Sheet>
  );
}

function SectionLinks({ service, sections, currentSection, onClose }: Frame & { onClose(): void }) {
  return sectionGroups(sections).map((group, index) => (
    // biome-ignore lint/suspicious/noArrayIndexKey: groups never move, and some have no title
    <Group key={index} title={group.title ?? SERVICES[service].title}>
      {group.sections.map((section) => (
        <li key={section.id}>
          <a
            href={section.href}
            onClick={onClose}
            aria-current={section.id === currentSection ? 'page' : undefined}
            className={cn(ROW, 'aria-[current=page]:bg-hover')}
          >
            {section.icon}
            {section.label}
          </a>
        </li>
      ))}
    </Group>
  ));
}

function ServiceLinks(frame: Frame) {
  return (
    <Group title="Services">
      {shellServices(frame).map(({ name, url, state, word, current }) => (
        <li key={name}>
          <a
            href={url}
            aria-current={current ? 'page' : undefined}
            className={cn(ROW, current && 'bg-hover')}
          >
            {SERVICES[name].icon}
            <span className="flex-1">{SERVICES[name].title}</span>
            <Lamp state={state} word={word} />
          </a>
        </li>
      ))}
    </Group>
  );
}

function OperatorRow({ onClose }: { onClose(): void }) {
  const { status, ask } = useOperator();
  const words = operatorWords(status);
  if (words === undefined && status.service === undefined) return null;
  const open = () => {
    onClose();
    void ask();
  };
  return (
    <Group title="Operator">
      {status.service && (
        <li>
          <a href={SETUP.href} className={ROW}>
            {SETUP.icon}
            {SETUP.label}
          </a>
        </li>
      )}
      {status.service && (
        <li>
          <a href={TRUST.href} className={ROW}>
            {TRUST.icon}
            {TRUST.label}
            <WaitingPairings />
          </a>
        </li>
      )}
      {words && (
        <li>
          <button type="button" onClick={open} className={cn(ROW, 'w-full cursor-pointer')}>
            {words.icon}
            {words.label}
          </button>
        </li>
      )}
    </Group>
  );
}

function ThemeChoices() {
  const { choice, choose } = useTheme();
  return (
    <Group title="Theme">
      {THEME_CHOICES.map((option) => (
        <li key={option}>
          <button
            type="button"
            aria-pressed={option === choice}
            onClick={() => choose(option)}
            className={cn(ROW, 'w-full cursor-pointer', option === choice && 'bg-hover')}
          >
            {THEME_ICONS[option]}
            {THEME_LABELS[option]}
          </button>
        </li>
      ))}
    </Group>
  );
}

function Group({ title, children }: { title: string; children: ReactNode }) {
  return (
    <section>
      <h3 className="px-3 pb-1 font-medium text-12 text-muted">{title}</h3>
      <ul>{children}</ul>
    </section>
  );
}
