import type { AppEnv } from '@trunkline/http';
import type { Hono } from 'hono';
import type { User } from '../users/user.ts';

/** The app as its routes see it: `c.get('caller')` is the user. */
export type VoiceApp = Hono<AppEnv<User>>;
