import { useRef } from 'react';

interface ReturnFocus {
  onOpenAutoFocus(): void;
  onCloseAutoFocus(event: Event): void;
}

/** For what opens over the page: gives the focus back to where it was, or to the content when that is gone. */
export function useReturnFocus(): ReturnFocus {
  const opener = useRef<Element | null>(null);
  return {
    onOpenAutoFocus() {
      opener.current = document.activeElement;
    },
    onCloseAutoFocus(event) {
      event.preventDefault();
      const target = opener.current?.isConnected ? opener.current : document.getElementById('content');
      if (target instanceof HTMLElement) target.focus();
    },
  };
}
