export { conformanceTarget } from './conformance-executor.ts';
export * from './fake-peer.ts';
