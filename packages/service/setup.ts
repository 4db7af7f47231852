import { ConfigError } from '@trunkline/config';
import { type App, defineErrors, describeRoute, requireOperator, validate } from '@trunkline/http';
import type { AuditRecorder, OperatorAccess, Principal } from '@trunkline/identity';
import { modelRoles } from '@trunkline/llm';
import { findGateways, Setup, type SetupDeps, type SetupOptions, setupSteps } from '@trunkline/setup';
import { CodedError, type FoundGateways } from '@trunkline/std';
import { z } from 'zod';
import { isServedAt } from './running.ts';

export interface SetupRoutes extends Omit<SetupDeps, 'options'> {
  service: string;
  operator: OperatorAccess;
  audit: AuditRecorder;
  /** The settings of the service; those beside a model file count where there is one. */
  options: SetupOptions & { withoutModelFile?: SetupOptions };
}

const errors = defineErrors({
  setup_refused: [400, ({ words }: { words: string }) => words],
});

const place = z.object({
  url: z.string().min(1).max(2000),
  apiKey: z.string().trim().max(10_000).optional(),
});
const model = z.string().trim().min(1).max(300);
const file = z.string().trim().min(1).max(4000);
const role = z.enum(modelRoles);

const underTest = z.union([z.object({ file }), place.extend({ model })]);

const saved = z.union([
  z.object({ role: z.literal('chat'), file }),
  z.object({ role, model: z.null() }),
  place.partial().extend({ role, model }),
]);

/** Setting up the models of the installation, for the page at `/setup`. Only the operator may. */
export function mountSetup<Caller>(
  app: App<Caller>,
  { service, operator, audit, options, ...deps }: SetupRoutes,
): void {
  const isOwn = (url: string) => isServedAt(options.trunklineHome, url);
  const setup = new Setup({ ...deps, isOwn, options: options.withoutModelFile ?? options });
  app.use('/operator/setup', requireOperator(operator));
  app.use('/operator/setup/*', requireOperator(operator));
  const { setup_refused } = errors;
  const record = (action: string, subject: string, principal: Principal) =>
    audit.record({ service: 'trunkline', action, subject, principal, result: 'done' });

  const view = describeRoute({
    summary: 'What is set up, what is open, and which settings win',
    errors: [setup_refused],
  });
  app.get('/operator/setup', view, async (context) =>
    context.json(await explained(() => setup.view(service))),
  );

  const find = describeRoute({
    summary: 'Look for model servers on this machine',
    description:
      'Asks the usual ports of Ollama, LM Studio, llama.cpp and vLLM on loopback, and no other address.',
  });
  app.post('/operator/setup/find', find, async (context) => {
    const found: FoundGateways = { gateways: await findGateways(context.req.raw.signal) };
    return context.json(found);
  });

  const models = describeRoute({
    summary: 'List the models at an address',
    description: 'Without a key, the one that is stored for the same address is used.',
    errors: [setup_refused],
  });
  app.post('/operator/setup/models', models, validate('json', place), async (context) =>
    context.json(await explained(() => setup.list(context.req.valid('json'), context.req.raw.signal))),
  );

  const test = describeRoute({
    summary: 'Try what a model can do',
    description:
      'Asks a model at an address, or one of a GGUF file, for an answer, a tool call and what an image shows: some hundred tokens.',
    errors: [setup_refused],
  });
  app.post('/operator/setup/test', test, validate('json', underTest), async (context) =>
    context.json(await explained(() => setup.test(context.req.valid('json'), context.req.raw.signal))),
  );

  const save = describeRoute({
    summary: 'Set the model of a role, for all services',
    description: 'Writes models.yaml, and the key into the stored secrets. `model: null` removes it.',
    errors: [setup_refused],
  });
  app.put('/operator/setup/model', save, validate('json', saved), async (context) => {
    const given = context.req.valid('json');
    await explained(() => setup.save(given));
    record('setup.model', given.role, context.get('principal'));
    return context.json(await explained(() => setup.view(service)));
  });

  const steps = describeRoute({ summary: 'Mark steps as done, skipped or open', errors: [setup_refused] });
  app.put('/operator/setup/steps', steps, validate('json', setupSteps), async (context) => {
    await explained(() => setup.setSteps(context.req.valid('json')));
    return context.json(await explained(() => setup.view(service)));
  });
}

/** Files that cannot be used are the operator's to mend. */
async function explained<Result>(work: () => Promise<Result>): Promise<Result> {
  try {
    return await work();
  } catch (cause) {
    if (!(cause instanceof ConfigError || cause instanceof CodedError)) throw cause;
    throw errors.setup_refused({ words: cause.message }, { cause });
  }
}
