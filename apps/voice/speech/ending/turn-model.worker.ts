import { once, serveWork } from '../worker/serve.ts';
import { loadTurnModel, type TurnText } from './turn-model.ts';

const model = once(loadTurnModel);

serveWork(async (turn: TurnText) => (await model())(turn));
