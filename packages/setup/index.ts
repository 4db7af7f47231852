export { findGateways } from './find-gateways.ts';
export { completeUrl, providerPresets } from './providers.ts';
export { isModelSecret, Setup, type SetupDeps, type SetupOptions, setupSteps } from './setup.ts';
export { listModels, testModel, testModelFile } from './try-model.ts';
