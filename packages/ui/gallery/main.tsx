// Every part of the design system on one page, for the tests and for whoever changes a part.
import { Boxes, MousePointerClick, Table2, Type } from 'lucide-react';
import { useState } from 'react';
import { AppShell, Inspector, Mark, mountPage, type Section } from '../src/index.ts';
import '../src/styles.css';
import { FieldSpecimens } from './FieldSpecimens.tsx';
import { Interactions } from './Interactions.tsx';
import { PartSpecimens } from './PartSpecimens.tsx';
import { ReadingSpecimens } from './ReadingSpecimens.tsx';
import { WorkSpecimens } from './WorkSpecimens.tsx';

const SECTIONS: Section[] = [
  { id: 'parts', label: 'Parts', icon: <Boxes aria-hidden />, href: '#parts' },
  { id: 'fields', label: 'Fields', icon: <Type aria-hidden />, href: '#fields' },
  { id: 'reading', label: 'Reading', icon: <Table2 aria-hidden />, href: '#reading' },
  {
    id: 'interactions',
    label: 'Interactions',
    icon: <MousePointerClick aria-hidden />,
    href: '#interactions',
  },
];

function Gallery() {
  const [inspected, setInspected] = useState<string | null>(null);
  return (
    <AppShell
      service="agent"
      state="live"
      services={[
        { name: 'voice', url: '#voice', state: 'live' },
        { name: 'research', url: '#research', state: 'waiting' },
      ]}
      sections={SECTIONS}
      currentSection="parts"
      commands={[
        {
          id: 'hello',
          label: 'Say hello',
          group: 'Gallery',
          keywords: ['greet'],
          run: () => setInspected('Hello'),
        },
      ]}
      inspector={
        <Inspector open={inspected !== null} onClose={() => setInspected(null)} title={inspected ?? ''}>
          <p>What is selected shows its details here.</p>
        </Inspector>
      }
    >
      <div className="mx-auto flex max-w-6xl flex-col gap-12 p-4 md:p-8">
        <header className="flex items-center gap-4">
          <Mark className="size-10" />
          <h1 className="text-40 tracking-tight">Gallery</h1>
        </header>
        <Interactions onInspect={setInspected} />
        <Themes id="parts">
          <PartSpecimens />
        </Themes>
        <Themes id="fields">
          <FieldSpecimens />
        </Themes>
        <Themes id="work">
          <WorkSpecimens />
        </Themes>
        <Themes id="reading">
          <ReadingSpecimens />
        </Themes>
      </div>
    </AppShell>
  );
}

// The same specimens in both themes, side by side.
function Themes({ id, children }: { id: string; children: React.ReactNode }) {
  return (
    <section
      id={id}
      aria-label={id}
      className={id === 'reading' ? 'grid gap-4' : 'grid gap-4 xl:grid-cols-2'}
    >
      {['light', 'dark'].map((theme) => (
        <div
          key={theme}
          data-theme={theme}
          className="flex min-w-0 flex-col gap-4 rounded-corner bg-paper p-4 text-ink"
        >
          {children}
        </div>
      ))}
    </section>
  );
}

mountPage(<Gallery />, { keyName: 'gallery.key', scheme: 'api-key', owner: 'the gallery' });
