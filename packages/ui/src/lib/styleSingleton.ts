// Stands in for react-style-singleton, which locks scrolling under an open dialog by writing a <style> element.
// A constructed style sheet does the same and is allowed by a content policy without inline styles.
import { useEffect } from 'react';

interface StyleSheetCounter {
  add(css: string): void;
  remove(): void;
}

/** A style sheet that is in force while at least one user holds it. */
export function stylesheetSingleton(): StyleSheetCounter {
  let users = 0;
  let sheet: CSSStyleSheet | undefined;
  return {
    add(css) {
      users += 1;
      if (users > 1) return;
      sheet = new CSSStyleSheet();
      sheet.replaceSync(css);
      document.adoptedStyleSheets = [...document.adoptedStyleSheets, sheet];
    },
    remove() {
      users -= 1;
      if (users > 0) return;
      document.adoptedStyleSheets = document.adoptedStyleSheets.filter((adopted) => adopted !== sheet);
      sheet = undefined;
    },
  };
}

export function styleHookSingleton() {
  const sheet = stylesheetSingleton();
  return function useStyle(css: string, isDynamic?: boolean) {
    const version = isDynamic ? css : '';
    // biome-ignore lint/correctness/useExhaustiveDependencies: only dynamic styles are renewed
    useEffect(() => {
      sheet.add(css);
      return () => sheet.remove();
    }, [version]);
  };
}

export function styleSingleton() {
  const useStyle = styleHookSingleton();
  return function Sheet({ styles, dynamic }: { styles: string; dynamic?: boolean }) {
    useStyle(styles, dynamic);
    return null;
  };
}
