export { findIsolation, type Isolation, type SandboxStatus } from './availability.ts';
export {
  openSandbox,
  resolveSettings,
  type SandboxServiceOptions,
  type SandboxSettings,
  sandboxSettings,
} from './open-sandbox.ts';
export { endAbandonedProcesses, markProcesses } from './process-tree.ts';
export type { SandboxLimits } from './resource-limits.ts';
export {
  createSandbox,
  SANDBOX_MODES,
  type Sandbox,
  type SandboxedProcess,
  type SandboxMode,
  type SandboxNetwork,
  type SandboxOptions,
  type SandboxRequest,
} from './sandbox.ts';
