import { type App, defineErrors, describeRoute, requireOperator, validate } from '@trunkline/http';
import type { OperatorAccess } from '@trunkline/identity';
import { type ConnectorCheck, type ConnectorsView, type ConnectorView, errorMessage } from '@trunkline/std';
import { z } from 'zod';
import type { Caller } from '../access/caller.ts';
import type { PluginStatus } from '../api-types.ts';
import type { SwitchboardOptions } from '../options.ts';
import { surfaces } from '../surfaces/list.ts';
import type { Surface } from '../surfaces/surface.ts';

const CHECK_MS = 15_000;

const errors = defineErrors({
  connector_unknown: [
    404,
    ({ name }: { name: string }) =>
      `There is no connector ${name}. There are: ${surfaces.map((surface) => surface.name).join(', ')}.`,
  ],
});

const checkBody = z.object({ values: z.record(z.string().max(100), z.string().max(10_000)) });

interface SetupDeps {
  operator: OperatorAccess;
  options: SwitchboardOptions;
  plugins: { list(): PluginStatus[] };
}

/** What the step "Connector" of the page at /setup needs: the surfaces, their settings, and a check before saving. */
export function mountSetup(app: App<Caller>, { operator, options, plugins }: SetupDeps): void {
  const guard = requireOperator(operator);
  app.get(
    '/operator/setup/connectors',
    describeRoute({ summary: 'The surfaces that can be connected, and what each needs' }),
    guard,
    (context) => context.json(connectorsView(options, plugins.list())),
  );
  app.post(
    '/operator/setup/connectors/:name/check',
    describeRoute({
      summary: 'Ask the product who we are there, with values that are not saved yet',
      errors: [errors.connector_unknown],
    }),
    guard,
    validate('json', checkBody),
    async (context) => {
      const { values } = context.req.valid('json');
      const name = context.req.param('name');
      const at = addressesIn(surfaceNamed(name), values);
      context.set('change', ['checked', name, ...(at.length > 0 ? ['at', ...at] : [])].join(' '));
      return context.json(await checkConnector(name, { options, values }, context.req.raw.signal));
    },
  );
}

/** Every surface that can be connected, with its state where the switchboard runs. */
export function connectorsView(
  options: SwitchboardOptions,
  states: readonly PluginStatus[] = [],
): ConnectorsView {
  return {
    connectors: surfaces.map((surface: Surface) =>
      viewOf(
        surface,
        options,
        states.find(({ name }) => name === surface.name),
      ),
    ),
  };
}

function viewOf(
  surface: Surface,
  options: SwitchboardOptions,
  status: PluginStatus | undefined,
): ConnectorView {
  const current: Readonly<Record<string, unknown>> = { ...options };
  return {
    name: surface.name,
    title: surface.title,
    guide: surface.guide,
    state: status?.state ?? 'off',
    words: status?.words ?? null,
    testTopic: surface.test?.topic ?? surface.schedules?.topic('test', undefined) ?? null,
    testPlace: surface.test?.place ?? null,
    fields: Object.entries(surface.options).map(([key, option]) => ({
      variable: option.env[0] ?? key,
      doc: option.doc,
      secret: option.secret,
      isOptional: option.defaultText !== undefined || option.defaultDoc !== undefined,
      value: option.secret || current[key] === undefined ? null : String(current[key]),
      isSet: current[key] !== undefined,
    })),
  };
}

function surfaceNamed(name: string): Surface {
  const surface = surfaces.find((one) => one.name === name) as Surface | undefined;
  if (surface === undefined) throw errors.connector_unknown({ name });
  return surface;
}

/** Those that a request brings, without passwords in them. */
function addressesIn(surface: Surface, values: Readonly<Record<string, string>>): string[] {
  return Object.values(surface.options)
    .filter(({ isAddress }) => isAddress)
    .flatMap(({ env }) => env.flatMap((variable) => URL.parse(values[variable]?.trim() ?? '')?.origin ?? []));
}

/** Asks a product who we are there, with values by variable in place of those that are set. */
export async function checkConnector(
  name: string,
  { options, values }: { options: SwitchboardOptions; values: Readonly<Record<string, string>> },
  caller: AbortSignal,
): Promise<ConnectorCheck> {
  const surface = surfaceNamed(name);
  const saved: Readonly<Record<string, unknown>> = { ...options };
  const tried: Record<string, unknown> = { ...options };
  const brought = new Set<string>();
  for (const [key, option] of Object.entries(surface.options)) {
    const given = option.env.map((variable) => values[variable]?.trim()).find(Boolean);
    if (given === undefined) continue;
    const reading = option.read(given);
    if (!('value' in reading))
      return { ok: false, words: `${option.env[0]} cannot be this value; expected ${reading.expected}.` };
    tried[key] = reading.value;
    brought.add(key);
  }
  const entries = Object.entries(surface.options);
  const isElsewhere = entries.some(([key, { isAddress }]) => isAddress && tried[key] !== saved[key]);
  // Saved keys are for the saved address: whoever may try another one gets none of them there.
  const left = isElsewhere
    ? entries.filter(([key, { secret }]) => secret && !brought.has(key) && saved[key] !== undefined)
    : [];
  for (const [key] of left) tried[key] = undefined;
  const ask = surface.diagnose(tried as SwitchboardOptions);
  if (ask === undefined && left.length > 0) {
    const names = left.map(([key, { env }]) => env[0] ?? key).join(', ');
    return {
      ok: false,
      words: `This is another address than the saved one, so fill in the keys too: ${names}.`,
    };
  }
  if (ask === undefined) return { ok: false, words: `Fill in ${surface.variables}.` };
  try {
    return { ok: true, words: await ask(AbortSignal.any([caller, AbortSignal.timeout(CHECK_MS)])) };
  } catch (error) {
    return { ok: false, words: `${surface.title} refuses: ${errorMessage(error)}` };
  }
}
