export { createEmbeddedBus, type EmbeddedBusOptions } from './embedded/embedded-bus.ts';
export { discardJournal, prepareJournal } from './embedded/journal/thread.ts';
export { BusError, NonRetryableError } from './errors.ts';
export { maximumMessageBytes } from './message.ts';
export { createNatsBus } from './nats/create-nats-bus.ts';
export type { NatsBusOptions } from './nats/options.ts';
export { defaultRetainBytes } from './options.ts';
export type {
  Bus,
  BusCluster,
  BusLogger,
  BusStatus,
  DeadLetter,
  Delivery,
  Draft,
  Handler,
  HistoryEntry,
  HistoryQuery,
  Lease,
  Memory,
  Message,
  Source,
  SubscribeOptions,
  Subscription,
} from './port.ts';
export { checkPattern, checkTopic, escapeSegment, matchesTopic, unescapeSegment } from './topics/topic.ts';
export { defaultDurableTopics, TopicIndex } from './topics/topic-index.ts';
