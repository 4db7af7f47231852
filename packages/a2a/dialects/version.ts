import { A2aError } from '../errors/a2a-error.ts';

export type ProtocolVersion = '0.3' | '1.0';

/** Chooses by the A2A-Version header; without one it is 0.3. A patch number does not matter. */
export function negotiateVersion(header: string | undefined): ProtocolVersion {
  const wanted = (header ?? '').trim();
  if (wanted === '') return '0.3';
  const [, major, minor = '0'] = /^(\d+)(?:\.(\d+))?(?:\.\d+)?$/.exec(wanted) ?? [];
  const version = `${major}.${minor}`;
  if (version === '0.3' || version === '1.0') return version;
  throw new A2aError('VERSION_NOT_SUPPORTED', 'Version not supported: this agent speaks A2A 0.3 and 1.0');
}
