import type { Hono } from 'hono';
import type { AppEnv, Logger } from '../app/context.ts';

export interface SignInContext {
  /** The page that a browser sees after signing in. */
  homePath: string;
  /** By which others reach the service; the address of the request when not given. */
  publicUrl: string | undefined;
  logger: Logger;
}

/** Another place where people sign in to the pages, such as an OpenID Connect provider. */
export interface SignInProvider {
  /** As the button calls it. */
  readonly name: string;
  /** Where the button leads; takes the page to come back to as `return`. */
  readonly loginPath: string;
  /** Where a browser signs out there as well; undefined where that is not offered. */
  signOutUrl(back: string): Promise<string | undefined>;
  /** Adds its routes. */
  mount(app: Hono<AppEnv>, context: SignInContext): void;
}
