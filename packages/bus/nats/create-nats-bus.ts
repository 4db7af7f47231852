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
  const [{ openNatsBus }, { missingPermission }] = await Promise.all([
    import('./nats-bus.ts'),
    import('./connection.ts'),
  ]);
  const logger = options.logger ?? silentLogger;
  const { streamsFile } = options;
  const open = () => openNatsBus(options, { settings, natsSettings, durableTopics, streamsFile, logger });
  if (options.waitForServers !== true) return await open();
  const { started } = options;
  const isFinal = (error: unknown) => missingPermission(error) !== undefined;
  const waiting = { open, isFinal, settings: natsSettings, logger, ...(started && { started }) };
  try {
    return new WaitingBus({ ...waiting, opened: await open() });
  } catch (failure) {
    if (!isWorthWaiting(failure)) throw failure;
    return new WaitingBus({ ...waiting, failure });
  }
}
