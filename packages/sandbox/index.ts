export { findIsolation, type Isolation, type SandboxStatus } from './availability.ts';
export { endAbandonedProcesses, markProcesses } from './marked-processes.ts';
export { openSandbox, type SandboxServiceOptions } from './open-sandbox.ts';
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
export { resolveSettings, type SandboxSettings, sandboxSettings } from './settings.ts';
