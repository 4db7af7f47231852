import type { App } from '@trunkline/http';
import type { OperatorAccess } from '@trunkline/identity';
import { estimateTokens } from '@trunkline/loop';
import { mountOpenAiApi } from '@trunkline/openai-api';
import type { MiddlewareHandler } from 'hono';
import type { Research } from '../components.ts';
import type { PdfPrinter } from '../exports/pdf.ts';
import { researchModels } from '../interfaces/openai-models.ts';
import manifest from '../package.json' with { type: 'json' };
import { mountChat } from './chat.ts';
import { mountFiles } from './files.ts';
import { mountGuards } from './guards.ts';
import { mountMcp } from './mcp.ts';
import { mountOffline } from './offline.ts';
import { mountExports, mountShares } from './reports.ts';
import { mountDeletion, mountQuestions, mountResearch } from './research.ts';
import { mountSetup } from './setup.ts';

/** Every route group of the service, in the order in which a request meets them. */
const routeGroups: readonly ((app: App, deps: RouteDeps) => void)[] = [
  mountGuards,
  mountChat,
  mountResearch,
  mountQuestions,
  mountDeletion,
  mountShares,
  mountExports,
  mountFiles,
  mountOffline,
  mountSetup,
  (app, deps) => {
    const { responses: kept, a2a } = deps;
    const responses = { kept, engine: a2a.engine, countTokens: estimateTokens };
    mountOpenAiApi(app, { ...researchModels(deps), responses });
  },
  mountMcp,
  (app, { a2a }) => a2a.mount(app),
];

/** What routes need besides the components. */
export interface RouteAccess {
  guard: MiddlewareHandler;
  operator: OperatorAccess;
  printer: PdfPrinter;
  mcpTasksFile: string;
  /** Settings of the sources. */
  sourceOptions: Readonly<Record<string, unknown>>;
}

/** Mounts all routes. Returns what ends sessions of clients. */
export function mountRoutes(app: App, research: Research, access: RouteAccess): () => Promise<void> {
  const closing = new AsyncDisposableStack();
  const deps = { ...routeDeps(research, access), closing };
  for (const mount of routeGroups) mount(app, deps);
  return () => closing.disposeAsync();
}

type RouteDeps = ReturnType<typeof routeDeps> & { closing: AsyncDisposableStack };

/** What route groups may use; each takes what its own interface names. */
function routeDeps(research: Research, access: RouteAccess) {
  const { stores, deepResearch, facts } = research;
  const { domains } = deepResearch.jobOptions;
  return {
    ...research,
    ...stores,
    ...deepResearch,
    ...facts,
    ...access,
    domains,
    version: manifest.version,
  };
}
