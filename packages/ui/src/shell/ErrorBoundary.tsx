import { Component, type ReactNode, useEffect } from 'react';
import { Button } from '../components/Button.tsx';
import { ErrorState } from '../components/EmptyState.tsx';

const ASK_AGAIN_MS = 2000;

interface ErrorBoundaryState {
  error: Error | null;
}

/** A failure in the page itself becomes words instead of an empty window, until another part is opened. */
export class ErrorBoundary extends Component<{ children: ReactNode }, ErrorBoundaryState> {
  override state: ErrorBoundaryState = { error: null };
  // Later, when the page has taken the new route: what failed would fail again.
  readonly #forget = () => setTimeout(() => this.setState({ error: null }));

  static getDerivedStateFromError(error: Error): ErrorBoundaryState {
    return { error };
  }

  override componentDidMount(): void {
    window.addEventListener('hashchange', this.#forget);
  }

  override componentWillUnmount(): void {
    window.removeEventListener('hashchange', this.#forget);
  }

  override render(): ReactNode {
    const { error } = this.state;
    if (error === null) return this.props.children;
    return (
      <div className="mx-auto max-w-xl p-6 pt-16">
        {isNotLoaded(error) ? <NotLoaded /> : <Stopped why={error.message} />}
      </div>
    );
  }
}

/** Parts are loaded when they are opened, which fails while the service is away or once it was upgraded. */
function isNotLoaded({ message }: Error): boolean {
  return /module/.test(message);
}

function NotLoaded() {
  useReloadWhenBack();
  return (
    <ErrorState
      what="A part of this page could not be loaded."
      why="The service does not answer, or it was upgraded."
      todo="When it is back, the page reloads by itself. You can reload it now, too."
      action={<ReloadButton />}
    />
  );
}

function Stopped({ why }: { why: string }) {
  return (
    <ErrorState
      what="This page stopped working."
      why={why}
      todo="Reload it. If it stops again, report the sentence above."
      action={<ReloadButton />}
    />
  );
}

function ReloadButton() {
  return <Button onClick={() => window.location.reload()}>Reload the page</Button>;
}

/** Reloads only after the service was seen to be away: a part that is broken would make the page reload without end. */
function useReloadWhenBack(): void {
  useEffect(() => {
    const leaving = new AbortController();
    let wasAway = false;
    const look = async () => {
      const signal = AbortSignal.any([leaving.signal, AbortSignal.timeout(ASK_AGAIN_MS)]);
      const answers = await fetch('/healthz', { signal, cache: 'no-store' }).then(
        ({ status }) => status < 500,
        () => false,
      );
      if (leaving.signal.aborted) return;
      if (answers && wasAway) window.location.reload();
      wasAway ||= !answers;
    };
    void look();
    const timer = setInterval(() => void look(), ASK_AGAIN_MS);
    return () => {
      clearInterval(timer);
      leaving.abort();
    };
  }, []);
}
