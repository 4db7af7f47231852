import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { peers } from './list.ts';

const root = join(import.meta.dirname, '../..');
const folders = [...new Set(peers.map(({ folder }) => folder))].filter((folder) => folder !== '../..');

interface Entry {
  version?: string;
  integrity?: string;
  resolved?: string;
  optionalDependencies?: Record<string, string>;
}

interface Lock {
  packages: Record<string, Entry>;
}

function readJson<Content>(folder: string, name: string): Content {
  return JSON.parse(readFileSync(join(import.meta.dirname, folder, name), 'utf8')) as Content;
}

describe('peers of the benchmark', () => {
  it('have names of their own', () => {
    for (const field of ['name', 'id'] as const)
      expect(new Set(peers.map((peer) => peer[field])).size).toBe(peers.length);
    for (const { id } of peers) expect(id).toMatch(/^[a-z0-9]+(-[a-z0-9]+)*$/);
  });

  it.each(peers.map((peer) => [peer.id, peer] as const))('%s says what a reader must know', (_id, peer) => {
    for (const words of [peer.install, peer.durability, peer.unfair]) expect(words.length).toBeGreaterThan(5);
    expect(['agent', 'bus', 'voice']).toContain(peer.kind);
  });

  it.each(peers.map((peer) => [peer.id, peer] as const))('%s is pinned', (_id, { package: name, folder }) => {
    if (name === 'trunkline') return;
    const { dependencies = {}, devDependencies = {} } = readJson<Record<string, Record<string, string>>>(
      folder,
      'package.json',
    );
    const version = { ...dependencies, ...devDependencies }[name];
    expect(version).toMatch(/^\d+\.\d+\.\d+$/);
    const entry = readJson<Lock>(folder, 'package-lock.json').packages[`node_modules/${name}`];
    expect(entry?.version).toBe(version);
  });

  it.each(folders)('the lock file of %s is whole and names no host', (folder) => {
    const entries = Object.entries(readJson<Lock>(folder, 'package-lock.json').packages);
    const bare = entries.filter(([location, { integrity }]) => location !== '' && integrity === undefined);
    expect(bare.map(([location]) => location)).toEqual([]);
    expect(entries.filter(([, { resolved }]) => resolved !== undefined)).toEqual([]);
    // npm ci refuses a lock file that names an optional package and does not hold it.
    const held = new Set(
      entries.map(([location]) => location.slice(location.lastIndexOf('node_modules/') + 13)),
    );
    const named = entries.flatMap(([, entry]) => Object.keys(entry.optionalDependencies ?? {}));
    expect(named.filter((name) => !held.has(name))).toEqual([]);
  });

  it('are no part of the product', () => {
    const { workspaces } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as {
      workspaces: string[];
    };
    expect(workspaces.some((pattern) => pattern.startsWith('bench'))).toBe(false);
    expect(readFileSync(join(root, '.dockerignore'), 'utf8').split('\n')).toContain('bench');
    expect(existsSync(join(root, 'bench/peers/package-lock.json'))).toBe(true);
  });
});
