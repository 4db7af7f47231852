import {
  AppShell,
  type Command,
  type Health,
  mountPage,
  PAGE,
  type Section,
  Skeleton,
  useHealth,
} from '@trunkline/ui';
import '@trunkline/ui/styles.css';
import { FileText, LibraryBig, PlugZap, Search } from 'lucide-react';
import { lazy, Suspense, useMemo } from 'react';
import { AskPage } from './ask/AskPage.tsx';
import { FileViewer } from './files/FileViewer.tsx';
import { goTo, hrefOf, type Route, useRoute } from './lib/route.ts';
import { pageSettings } from './settings.ts';

// The box is there at once; what is opened from it is loaded when it is opened.
const ChatPage = lazy(async () => ({ default: (await import('./chat/ChatPage.tsx')).ChatPage }));
const FilesPage = lazy(async () => ({ default: (await import('./files/FilesPage.tsx')).FilesPage }));
const LibraryPage = lazy(async () => ({ default: (await import('./library/LibraryPage.tsx')).LibraryPage }));
const ResearchPage = lazy(async () => ({
  default: (await import('./research/ResearchPage.tsx')).ResearchPage,
}));
const SourcesPage = lazy(async () => ({ default: (await import('./status/SourcesPage.tsx')).SourcesPage }));

const SECTIONS: readonly Section[] = [
  { id: 'ask', label: 'Ask', icon: <Search aria-hidden />, href: hrefOf({ name: 'ask' }) },
  { id: 'library', label: 'Library', icon: <LibraryBig aria-hidden />, href: hrefOf({ name: 'library' }) },
  { id: 'files', label: 'Files', icon: <FileText aria-hidden />, href: hrefOf({ name: 'files' }) },
  { id: 'sources', label: 'Sources', icon: <PlugZap aria-hidden />, href: hrefOf({ name: 'sources' }) },
];

/** The page: its sections, and what is open in them. */
function App() {
  const route = useRoute();
  const { health, error } = useHealth();
  const state = error === undefined ? (health?.state ?? 'waiting') : 'failed';
  return (
    <AppShell
      service="research"
      state={state}
      services={health?.services}
      sections={SECTIONS}
      currentSection={sectionOf(route)}
      commands={useCommands()}
    >
      <Suspense fallback={<Skeleton rows={6} className={PAGE} />}>
        <FileViewer>
          <Content route={route} health={health} />
        </FileViewer>
      </Suspense>
    </AppShell>
  );
}

function Content({ route, health }: { route: Route; health: Health | undefined }) {
  switch (route.name) {
    case 'chat':
      return <ChatPage key={route.id} id={route.id} />;
    case 'research':
      return <ResearchPage key={route.id} id={route.id} />;
    case 'library':
      return <LibraryPage />;
    case 'files':
      return <FilesPage />;
    case 'sources':
      return <SourcesPage />;
    default:
      return <AskPage health={health} />;
  }
}

/** Open chats and jobs belong to the library section. */
function sectionOf({ name }: Route): string {
  return name === 'chat' || name === 'research' ? 'library' : name;
}

function useCommands(): Command[] {
  return useMemo(
    () =>
      SECTIONS.map(({ id, label, icon }) => ({
        id: `go-${id}`,
        label: id === 'ask' ? 'Ask something new' : `Open ${label}`,
        group: 'Research',
        icon,
        run: () => goTo({ name: id as 'ask' | 'library' | 'files' | 'sources' }),
      })),
    [],
  );
}

mountPage(<App />, pageSettings);
