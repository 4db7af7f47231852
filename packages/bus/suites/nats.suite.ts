export { type NatsServer, natsMissing, startNatsServer } from '../../testing/nats.ts';
