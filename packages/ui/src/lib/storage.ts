// Text kept in the browser. Where storage is closed to the page (private windows), it lasts until the page is left.
const remembered = new Map<string, string>();

export function readStored(name: string): string | null {
  try {
    return localStorage.getItem(name) ?? remembered.get(name) ?? null;
  } catch {
    return remembered.get(name) ?? null;
  }
}

/** Keeps the text under the name; null forgets it. */
export function writeStored(name: string, value: string | null): void {
  if (value === null) remembered.delete(name);
  else remembered.set(name, value);
  try {
    if (value === null) localStorage.removeItem(name);
    else localStorage.setItem(name, value);
  } catch {
    // Remembered above for as long as the page lives.
  }
}

/** Puts text on the clipboard; false when the browser refuses. */
export async function copyText(text: string): Promise<boolean> {
  // The clipboard is closed to pages over plain http on another machine; the old way still works there.
  if (navigator.clipboard === undefined) return copyBySelection(text);
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    return copyBySelection(text);
  }
}

function copyBySelection(text: string): boolean {
  const focused = document.activeElement;
  const area = document.createElement('textarea');
  area.value = text;
  area.style.position = 'fixed';
  area.style.opacity = '0';
  // Inside an open dialog, since it takes the focus back from everything outside.
  (focused?.closest('[role=dialog]') ?? document.body).append(area);
  area.select();
  const copied = document.execCommand('copy');
  area.remove();
  if (focused instanceof HTMLElement) focused.focus();
  return copied;
}
