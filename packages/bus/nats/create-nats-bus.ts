import { type Settings, settingsOf, silentLogger } from '../options.ts';
import type { Bus } from '../port.ts';
import { DurableTopics } from '../topics/topic-index.ts';
import { type NatsBusOptions, natsSettingsOf } from './options.ts';
import { isWorthWaiting, WaitingBus } from './waiting-bus.ts';

/** A bus on NATS JetStream, shared by all processes with the same servers and prefix. Loads the NATS client only now. */
export async function createNatsBus(options: NatsBusOptions): Promise<Bus> {
  const settings: Settings = settingsOf(options);
  const natsSettings = natsSettingsOf(options);
  const durableTopics = new DurableTopics(options.durableTopics);
  const { openNatsBus } = await import('./nats-bus.ts');
  const logger = options.logger ?? silentLogger;
  const { streamsFile } = options;
  const open = () => openNatsBus(options, { settings, natsSettings, durableTopics, streamsFile, logger });
  try {
    return await open();
  } catch (failure) {
    if (options.waitForServers !== true || !isWorthWaiting(failure)) throw failure;
    return new WaitingBus({ open, failure, settings: natsSettings, logger });
  }
}
