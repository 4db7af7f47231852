export { start } from './app.ts';
export { main } from './main.ts';
export { type SwitchboardOptions, switchboardOptions } from './options.ts';
