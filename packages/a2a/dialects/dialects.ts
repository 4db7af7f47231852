import type { Dialect } from './dialect.ts';
import { v03 } from './v03/dialect.ts';
import { v10 } from './v10/dialect.ts';
import { negotiateVersion } from './version.ts';

/** The dialect that a request asks for; `legacy` is the form of 0.3 at this place. */
export function chooseDialect(header: string | undefined, legacy: Dialect = v03): Dialect {
  return negotiateVersion(header) === '1.0' ? v10 : legacy;
}

/** The dialect in which a webhook was registered. */
export function pushDialect(version: Dialect['version']): Dialect {
  return version === '1.0' ? v10 : v03;
}
