// Runs before each file of tests, and changes what is too hasty for a busy machine.
import { vi } from 'vitest';
import { HANGS_MS } from './wait.ts';

const patient = Symbol.for('trunkline.tests.patient');
if (!(patient in vi)) {
  await leaveIdleConnections();
  const { waitFor } = vi;
  // By itself it waits for a second.
  vi.waitFor = (check, options) =>
    waitFor(check, typeof options === 'number' ? options : { timeout: HANGS_MS, ...options });
  Object.assign(vi, { [patient]: true });
}

/**
 * A test and the service that it asks share a process, or a starved machine. Where either stands still for some seconds,
 * the service closes an idle connection just as fetch uses it again, and the test fails with ECONNRESET. So fetch leaves
 * a connection that has been idle for a moment.
 */
async function leaveIdleConnections(): Promise<void> {
  const idleMs = 10;
  const dispatcher = Symbol.for('undici.globalDispatcher.1');
  const place = globalThis as { [dispatcher]?: object };
  // Fetch and what belongs to it are loaded when they are used first.
  await fetch('data:,');
  const shipped = place[dispatcher]?.constructor as
    | (new (options: {
        keepAliveTimeout: number;
        keepAliveMaxTimeout: number;
      }) => object)
    | undefined;
  if (shipped === undefined)
    throw new Error('This release of Node.js keeps the connections of fetch elsewhere.');
  place[dispatcher] = new shipped({ keepAliveTimeout: idleMs, keepAliveMaxTimeout: idleMs });
}
