import { describe, expect, it } from 'vitest';
import { browserCommand } from './run.ts';

const desktop = { isTerminal: true, platform: 'linux', env: { DISPLAY: ':0' } } as const;

describe('the browser is opened', () => {
  it.each([
    [desktop, ['xdg-open']],
    [{ ...desktop, env: { WAYLAND_DISPLAY: 'wayland-0' } }, ['xdg-open']],
    [{ ...desktop, platform: 'darwin', env: {} } as const, ['open']],
    [{ ...desktop, platform: 'win32', env: {} } as const, ['cmd', '/c', 'start', '']],
  ])('where a person sits at a desktop: %j', (desk, command) => {
    expect(browserCommand(desk)).toEqual(command);
  });

  it.each([
    ['the output goes to a file or a pipe', { ...desktop, isTerminal: false }],
    ['there is no desktop', { ...desktop, env: {} }],
    ['a build server runs it', { ...desktop, env: { ...desktop.env, CI: 'true' } }],
    ['a test runs it', { ...desktop, env: { ...desktop.env, VITEST: 'true' } }],
    ['the person sits at another machine', { ...desktop, env: { ...desktop.env, SSH_CONNECTION: 'x' } }],
  ])('never where %s', (_, desk) => {
    expect(browserCommand(desk)).toBeUndefined();
  });
});
