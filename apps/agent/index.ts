export { start } from './app.ts';
export { apiKeyVariable } from './context.ts';
export { agentExposures } from './exposure.ts';
export { main } from './main.ts';
export { type AgentOptions, agentOptions } from './options.ts';
export { diagnoseSchedules } from './scheduler/diagnose.ts';
export { diagnoseOwnModel } from './setup/setup.ts';
export { declaredTools } from './tools/declared-tools.ts';
