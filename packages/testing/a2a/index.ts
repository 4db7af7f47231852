export { conformanceTarget } from './conformance-script.ts';
export * from './fake-peer.ts';
