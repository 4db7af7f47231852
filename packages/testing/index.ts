export * from './browser.ts';
export * from './child.ts';
export * from './clock.ts';
export * from './directory.ts';
export * from './model/reply.ts';
export * from './model/server.ts';
export * from './network.ts';
export * from './wait.ts';
