// How well the citation checker judges, for the benchmark: a door of its own, so that a start does not load it.
export {
  heldOutSets,
  judgedByRules,
  judgedWithModel,
  opinionsIn,
  plantedClaims,
  readOpinions,
  replayOf,
  scoreOf,
  writeOpinions,
} from './citations/planted/planted.ts';
