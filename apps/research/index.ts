export { start } from './app.ts';
export { opinionsIn, readOpinions, replayOf, writeOpinions } from './citations/planted/opinions.ts';
export { heldOutSets, judgedByRules, plantedClaims, scoreOf } from './citations/planted/planted.ts';
export { judgedWithModel } from './citations/planted/whole-checker.ts';
export { main } from './main.ts';
export { type ResearchOptions, researchOptions } from './options.ts';
export { ExtractionPool } from './reading/extraction-pool.ts';
export { fingerprintOf, isNearDuplicate } from './research/duplicates.ts';
