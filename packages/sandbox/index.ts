export { findIsolation, type SandboxStatus } from './availability.ts';
export { openSandbox, resolveSettings, type SandboxSettings, sandboxSettings } from './open-sandbox.ts';
export { endAbandonedProcesses } from './process-tree.ts';
export { createSandbox, type Sandbox, type SandboxedProcess } from './sandbox.ts';
