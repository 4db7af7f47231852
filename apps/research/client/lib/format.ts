/** "1 min 5 s" */
export function durationWords(milliseconds: number): string {
  const seconds = Math.max(0, Math.floor(milliseconds / 1000));
  if (seconds < 60) return `${seconds} s`;
  if (seconds < 3600) return `${Math.floor(seconds / 60)} min ${seconds % 60} s`;
  return `${Math.floor(seconds / 3600)} h ${Math.floor((seconds % 3600) / 60)} min`;
}

/** "12.4k" */
export function countWords(count: number): string {
  if (count < 1000) return String(count);
  return count < 1_000_000 ? `${(count / 1000).toFixed(1)}k` : `${(count / 1_000_000).toFixed(2)}M`;
}

/** "$0.042"; the price of some models is not known. */
export function costWords(dollars: number | null): string {
  if (dollars === null) return 'not known';
  if (dollars === 0) return '$0';
  return dollars < 0.01 ? '< $0.01' : `$${dollars.toFixed(2)}`;
}

export function bytesWords(bytes: number): string {
  if (bytes < 1024) return `${bytes} B`;
  return bytes < 1024 * 1024 ? `${Math.round(bytes / 1024)} kB` : `${(bytes / 1024 / 1024).toFixed(1)} MB`;
}

/** "1,204 characters" */
export function plural(count: number, word: string): string {
  return `${count.toLocaleString('en')} ${count === 1 ? word : `${word}s`}`;
}

/** The host of an address, or what an address without one stands for. */
export function placeOf(url: string): string {
  if (url.startsWith('/api/offline/')) return 'Offline reference';
  return /^https?:/.test(url) && URL.canParse(url) ? new URL(url).host : 'Your file';
}

/** The title of a source; where it has none but its address, the words of that. */
export function titleOf({ title, url }: { title: string; url: string }): string {
  const given = title.trim();
  if (given !== '' && given !== url && !/^(https?:\/\/|\/)/.test(given)) return given;
  const last =
    url
      .replace(/[?#].*/, '')
      .split('/')
      .findLast((part) => part !== '' && !part.includes(':')) ?? '';
  const words = decoded(last)
    .replace(/\.\w{2,5}$/, '')
    .replaceAll(/[-_+]+/g, ' ')
    .trim();
  return words === '' || words === placeOf(url) || /^\d+$/.test(words)
    ? placeOf(url)
    : words.charAt(0).toUpperCase() + words.slice(1);
}

function decoded(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return part; // A stray % is shown as it is.
  }
}
