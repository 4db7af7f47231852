export * from './fake-peer.ts';
