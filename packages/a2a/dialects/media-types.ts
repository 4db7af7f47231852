import { A2aError } from '../errors/a2a-error.ts';

/** Refuses a message that declares a type which the card does not list. Text is always taken. */
export function requireAccepted(mediaTypes: readonly string[], modes: readonly string[]): void {
  const refused = mediaTypes.find((type) => !isAccepted(plainType(type), modes));
  if (refused === undefined) return;
  const words = `Incompatible content types: ${refused.slice(0, 100)} is not supported; send ${modes.join(', ')}`;
  throw new A2aError('CONTENT_TYPE_NOT_SUPPORTED', words);
}

function isAccepted(type: string, modes: readonly string[]): boolean {
  return type === 'text/plain' || modes.some((mode) => matches(type, plainType(mode)));
}

/** `image/*`, `*` and the informal `text` stand for a family. */
function matches(type: string, mode: string): boolean {
  if (mode === '*' || mode === '*/*' || mode === type) return true;
  const [family = '', kind] = mode.split('/');
  return (kind === undefined || kind === '*') && type.startsWith(`${family}/`);
}

function plainType(type: string): string {
  return (type.split(';')[0] ?? '').trim().toLowerCase();
}
