import { randomUUID } from 'node:crypto';

const SANE_ID = /^[A-Za-z0-9][A-Za-z0-9._:-]{0,127}$/;

/** Keeps the id a caller or proxy gave when it is harmless in logs and headers, else makes one. */
export function chooseRequestId(given: string | undefined): string {
  return given !== undefined && SANE_ID.test(given) ? given : randomUUID();
}
