export { start } from './app.ts';
export { researchExposures } from './exposure.ts';
export { main } from './main.ts';
export { type ResearchOptions, researchOptions } from './options.ts';
export { fingerprintOf, isNearDuplicate } from './research/duplicates.ts';
export { type SearchGiven, trySearch } from './routes/setup.ts';
