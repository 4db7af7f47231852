export { switchboardExposures } from './access/exposure.ts';
export { listedKeys } from './access/keys.ts';
export { start } from './app.ts';
export { diagnoseBus } from './cluster/diagnose.ts';
export { main } from './main.ts';
export { type SwitchboardOptions, switchboardOptions } from './options.ts';
export { checkConnector, connectorsView } from './routes/setup.ts';
export { diagnoseSurfaces } from './surfaces/diagnose.ts';
