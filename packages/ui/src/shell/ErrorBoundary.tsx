import { Component, type ReactNode } from 'react';
import { Button } from '../components/Button.tsx';
import { ErrorState } from '../components/ErrorState.tsx';

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
        <ErrorState
          {...wordsFor(error.message)}
          action={<Button onClick={() => window.location.reload()}>Reload the page</Button>}
        />
      </main>
    );
  }
}

/** Parts are loaded when they are opened, which fails while the service is away or once it was upgraded. */
function wordsFor(message: string) {
  return /module/.test(message)
    ? {
        what: 'A part of this page could not be loaded.',
        why: 'The service does not answer.',
        todo: 'Reload the page and try again.',
      }
    : {
        what: 'This page stopped working.',
        why: message,
        todo: 'Reload it. If it stops again, report the sentence above.',
      };
}
