// Where trunkline.js continues on a newer Node, in a process of its own. It ends with the launcher, however that ends:
// a kill -9 would otherwise leave it holding the ports and the databases.
process.on('disconnect', () => process.kill(process.pid, 'SIGTERM'));
// The channel carries nothing and keeps no command from ending.
process.channel?.unref();
await import('./trunkline.js');
