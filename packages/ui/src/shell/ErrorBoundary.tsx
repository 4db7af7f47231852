import { Component, type ReactNode } from 'react';
import { Button } from '../components/Button.tsx';
import { ErrorState } from '../components/ErrorState.tsx';
import { isMissingPart, MissingPart } from './MissingPart.tsx';

interface ErrorBoundaryState {
  error: Error | null;
}

/** A failure in the page itself becomes words instead of an empty window. */
export class ErrorBoundary extends Component<{ children: ReactNode }, ErrorBoundaryState> {
  override state: ErrorBoundaryState = { error: null };

  static getDerivedStateFromError(error: Error): ErrorBoundaryState {
    return { error };
  }

  override render(): ReactNode {
    const { error } = this.state;
    if (error === null) return this.props.children;
    return (
      <main className="mx-auto max-w-xl p-6 pt-16">
        {isMissingPart(error) ? (
          <MissingPart />
        ) : (
          <ErrorState
            what="This page stopped working."
            why={error.message}
            todo="Reload it. If it stops again, report the sentence above."
            action={<Button onClick={() => window.location.reload()}>Reload the page</Button>}
          />
        )}
      </main>
    );
  }
}
