import { createContext, lazy, type ReactNode, Suspense, useContext, useMemo, useState } from 'react';

/** Opens one of the user's files over the page, at a passage of it. */
type OpenFile = (id: string, passage?: string) => void;

/** Lets what is inside it open files; a shared report stands outside, as its readers may not see them. */
export function FileViewer({ children }: { children: ReactNode }) {
  const [shown, setShown] = useState<{ id: string; passage: string }>();
  const open = useMemo<OpenFile>(
    () =>
      (id, passage = '') =>
        setShown({ id, passage }),
    [],
  );
  return (
    <FileContext value={open}>
      {children}
      {shown && (
        <Suspense>
          <FileDialog {...shown} onClose={() => setShown(undefined)} />
        </Suspense>
      )}
    </FileContext>
  );
}

/** Opens the file that an address of the service leads to; undefined when it leads to none, or none may be opened here. */
export function useFileAt(url: string): ((passage?: string) => void) | undefined {
  const open = useContext(FileContext);
  const id = /^\/api\/files\/(\d+)$/.exec(url)?.[1];
  return open === null || id === undefined ? undefined : (passage) => open(id, passage);
}

const FileContext = createContext<OpenFile | null>(null);

// Loaded when the first file is opened.
const FileDialog = lazy(async () => ({ default: (await import('./FileDialog.tsx')).FileDialog }));
