export { start } from './app.ts';
export { main } from './main.ts';
export { type ResearchOptions, researchOptions } from './options.ts';
