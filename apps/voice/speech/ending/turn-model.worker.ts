import { once, serveWork } from '../worker/serve.ts';
import { loadTurnModel, type TurnSoFar } from './turn-model.ts';

const model = once(loadTurnModel);

serveWork(async (turn: TurnSoFar) => (await model())(turn));
