// Who calls, and what they may choose from.
import { type Api, type ApiRequest, type Resource, useResource } from '@trunkline/ui';
import { useSyncExternalStore } from 'react';
import type { Account, SkillChoice, Skills } from '../api-types.ts';

let offer: InstallEvent | undefined;

const listeners = new Set<() => void>();

/** Where the caller's key is kept in the browser. */
export const KEY_NAME = 'trunkline.voice.key';

export function useAccount(): Resource<Account> {
  return useResource<Account>('/api/whoami');
}

export function useSkills(): Resource<Skills> {
  return useResource<Skills>('/api/skills');
}

export function activeSkill(skills: Skills | undefined): SkillChoice | undefined {
  return skills?.skills.find(({ slug }) => slug === skills.active);
}

/** Throws also for refusals with status 200 and an error in the body. */
export async function ask<Body extends object>(api: Api, path: string, request?: ApiRequest): Promise<Body> {
  const body = await api.request<Body & { error?: unknown }>(path, request);
  if (typeof body.error === 'string') throw new Error(body.error);
  return body;
}

// The page as an app: a worker that caches its files, and the browser's offer to install it.

/** Not in the browser's types, as only some offer it. */
interface InstallEvent extends Event {
  prompt(): Promise<unknown>;
}

/** Call once, before the browser makes its offer. */
export function prepareInstall(): void {
  window.addEventListener('beforeinstallprompt', (event) => {
    event.preventDefault();
    change(event as InstallEvent);
  });
  window.addEventListener('appinstalled', () => change(undefined));
  if (!('serviceWorker' in navigator)) return;
  // Without the worker the page works too; only its files are not cached.
  navigator.serviceWorker
    .register('./sw.js')
    .catch((error: unknown) => console.warn('No service worker:', error));
}

/** Installs the page; undefined if the browser does not offer that. */
export function useInstall(): (() => void) | undefined {
  const present = useSyncExternalStore(subscribe, () => offer);
  if (present === undefined) return undefined;
  return () => {
    void present.prompt();
    change(undefined);
  };
}

function subscribe(listener: () => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

function change(next: InstallEvent | undefined): void {
  offer = next;
  for (const listener of listeners) listener();
}
