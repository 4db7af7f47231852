export { start } from './app.ts';
export { main } from './main.ts';
export { type AgentOptions, agentOptions } from './options.ts';
