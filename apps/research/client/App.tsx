import { AppShell, type Command, type Section, useHealth } from '@trunkline/ui';
import { FileText, LibraryBig, PlugZap, Search } from 'lucide-react';
import { useMemo } from 'react';
import { AskPage } from './ask/AskPage.tsx';
import { ChatPage } from './chat/ChatPage.tsx';
import { FilesPage } from './files/FilesPage.tsx';
import { goTo, hrefOf, type Route, useRoute } from './lib/route.ts';
import { LibraryPage } from './library/LibraryPage.tsx';
import { ResearchPage } from './research/ResearchPage.tsx';
import { SourcesPage } from './status/SourcesPage.tsx';

const SECTIONS: readonly Section[] = [
  { id: 'ask', label: 'Ask', icon: <Search aria-hidden />, href: hrefOf({ name: 'ask' }) },
  { id: 'library', label: 'Library', icon: <LibraryBig aria-hidden />, href: hrefOf({ name: 'library' }) },
  { id: 'files', label: 'Files', icon: <FileText aria-hidden />, href: hrefOf({ name: 'files' }) },
  { id: 'sources', label: 'Sources', icon: <PlugZap aria-hidden />, href: hrefOf({ name: 'sources' }) },
];

/** The page: its sections, and what is open in them. */
export function App() {
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
      <Content route={route} />
    </AppShell>
  );
}

function Content({ route }: { route: Route }) {
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
      return <AskPage />;
  }
}

/** What is open came from the library. */
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
