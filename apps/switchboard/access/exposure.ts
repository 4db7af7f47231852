import { type KeyFacts, keyFacts } from '@trunkline/http';
import { type Exposure, withGrpcPort } from '@trunkline/service';
import type { SwitchboardOptions } from '../options.ts';
import { surfaces } from '../surfaces/list.ts';
import type { Surface } from '../surfaces/surface.ts';

/** How others reach the service, with the keys of keys.yaml by the names of their callers. */
export function switchboardExposures(
  options: SwitchboardOptions,
  listed: Readonly<Record<string, KeyFacts>>,
): Exposure[] {
  const { host, apiKey, grpcPort } = options;
  const variable = 'SWITCHBOARD_API_KEY';
  const fromFile = Object.entries(listed).map(([name, facts]) => [`the key of ${name} in keys.yaml`, facts]);
  const keys = { ...(apiKey && { [variable]: keyFacts(apiKey) }), ...Object.fromEntries(fromFile) };
  const isOpen = Object.keys(keys).length === 0;
  return [
    ...withGrpcPort({ name: 'switchboard', host, isOpen, variable, keys }, grpcPort),
    ...surfaces.flatMap((surface: Surface) => webhookPort(surface, options)),
  ];
}

/** Without a secret all webhooks are refused, unless unsigned ones are allowed. */
function webhookPort({ title, webhooks }: Surface, options: SwitchboardOptions): Exposure[] {
  const { secret, variable = '' } = webhooks?.(options) ?? {};
  const name = `webhooks of ${title}`;
  if (secret !== undefined)
    return [{ name, host: options.host, isOpen: false, variable, keys: { [variable]: keyFacts(secret) } }];
  return variable !== '' && options.allowUnsigned
    ? [{ name, host: options.host, isOpen: true, variable }]
    : [];
}
