// How well the citation checker judges, for the benchmark: a door of its own, so that a start does not load it.
export { opinionsIn, readOpinions, replayOf, writeOpinions } from './citations/planted/opinions.ts';
export { heldOutSets, judgedByRules, plantedClaims, scoreOf } from './citations/planted/planted.ts';
export { judgedWithModel } from './citations/planted/whole-checker.ts';
