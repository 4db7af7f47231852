import { Tooltip } from 'radix-ui';
import { type ReactNode, StrictMode } from 'react';
import { createRoot } from 'react-dom/client';
import { ApiProvider } from '../api/ApiProvider.tsx';
import type { KeyScheme } from '../api/api.ts';
import { ToastProvider } from '../components/Toasts.tsx';
import { OperatorProvider } from '../operator/OperatorProvider.tsx';
import { ErrorBoundary } from './ErrorBoundary.tsx';

interface PageSettings {
  /** The name of the service's key in local storage. */
  keyName: string;
  scheme: KeyScheme;
  /** The service in words: "the voice service". */
  owner: string;
}

/** Puts a page into the element with the id "root", with all that the components need around it. */
export function mountPage(page: ReactNode, settings: PageSettings): void {
  const element = document.getElementById('root');
  if (element === null) throw new Error('The page has no element with the id "root"');
  createRoot(element).render(
    <StrictMode>
      <ErrorBoundary>
        <Tooltip.Provider delayDuration={400}>
          <ToastProvider>
            <OperatorProvider>
              <ApiProvider {...settings}>{page}</ApiProvider>
            </OperatorProvider>
          </ToastProvider>
        </Tooltip.Provider>
      </ErrorBoundary>
    </StrictMode>,
  );
}
