import type { App } from '@trunkline/http';
import type { User } from '../users/user.ts';

/** The app as its routes see it: `c.get('caller')` is the user. */
export type VoiceApp = App<User>;
