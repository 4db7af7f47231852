import { compat } from './compat.ts';
import { inprocess } from './inprocess.ts';
import { local } from './local.ts';
import { sidecar } from './sidecar.ts';
import { whisper } from './whisper.ts';

/** All speech backends. Options, choice, fallbacks, doctor and reference pages read this list. */
export const speechBackends = [local, whisper, sidecar, inprocess, compat] as const;
