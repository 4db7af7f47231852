export { findGateways } from './find-gateways.ts';
export { completeUrl, providerPresets } from './providers.ts';
export {
  isModelSecret,
  Setup,
  type SetupDeps,
  type SetupOptions,
  setupSteps,
  variableOverrides,
} from './setup.ts';
export { type GatewayTest, listModels, testGateway, testModel, testModelFile } from './try-model.ts';
