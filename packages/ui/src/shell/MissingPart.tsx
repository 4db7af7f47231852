import { useEffect } from 'react';
import { Button } from '../components/Button.tsx';
import { ErrorState } from '../components/ErrorState.tsx';

const LOOK_EVERY_MS = 3_000;
const LOOK_LIMIT_MS = 5_000;

/** Whether a part of the page was not to be had: the service is away, or was upgraded since the page was opened. */
export function isMissingPart({ message }: Error): boolean {
  return /dynamically imported module|importing a module script failed/i.test(message);
}

/** Loads the page anew as soon as the service answers. */
export function MissingPart() {
  useEffect(() => {
    const timer = setInterval(() => void reloadWhenBack(), LOOK_EVERY_MS);
    return () => clearInterval(timer);
  }, []);
  return (
    <ErrorState
      what="A part of this page could not be loaded."
      why="The service does not answer, or was upgraded since you opened the page."
      todo="The page loads itself anew as soon as the service answers."
      action={<Button onClick={() => window.location.reload()}>Reload the page</Button>}
    />
  );
}

async function reloadWhenBack(): Promise<void> {
  const answer = await fetch('/healthz', { signal: AbortSignal.timeout(LOOK_LIMIT_MS) }).catch(
    () => undefined,
  );
  if (answer?.ok) window.location.reload();
}
