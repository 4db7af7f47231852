import { createHash } from 'node:crypto';
import { type AppEnv, describeRoute } from '@trunkline/http';
import type { Context, Hono, MiddlewareHandler } from 'hono';
import type { Dialect } from '../dialects/dialect.ts';
import type { SchemeName } from '../http/credentials-guard.ts';
import { versionHeader } from '../http/stream.ts';
import { principalExtension } from '../protocol/principal-extension.ts';
import { type CardSigner, jwksPath } from './card-signing.ts';

/** What the cards of all versions hold. */
function commonFields(agent: AgentDescription): object {
  return {
    name: agent.name,
    description: agent.description,
    provider: agent.provider,
    version: agent.version,
    documentationUrl: agent.documentationUrl,
    defaultInputModes: agent.inputModes ?? defaultInputModes,
    defaultOutputModes: agent.outputModes ?? defaultOutputModes,
    skills: agent.skills,
    iconUrl: agent.iconUrl,
  };
}

/** The card of 0.3, with no field that its schema does not know. */
function cardV03(agent: AgentDescription, facts: ServerFacts) {
  const url = endpointOf(agent.publicUrl);
  return {
    ...commonFields(agent),
    protocolVersion: '0.3.0',
    url,
    preferredTransport: 'JSONRPC',
    additionalInterfaces: [
      ...['JSONRPC', 'HTTP+JSON'].map((transport) => ({ url, transport })),
      ...(agent.grpcAddress === undefined ? [] : [{ url: agent.grpcAddress, transport: 'GRPC' }]),
    ],
    capabilities: {
      streaming: true,
      pushNotifications: facts.pushNotifications,
      stateTransitionHistory: false,
      extensions: extensionsOf(agent),
    },
    securitySchemes: Object.fromEntries(facts.schemes.map((name) => [name, schemesV03[name]])),
    security: requirementsOf(facts).map((names) => Object.fromEntries(names.map((name) => [name, []]))),
    supportsAuthenticatedExtendedCard: facts.extendedCard,
  };
}

/** For callers of operations, who may name no version: it lists the interfaces of 1.0 too. */
function cardV03Open(agent: AgentDescription, facts: ServerFacts): object {
  return { ...cardV03(agent, facts), supportedInterfaces: interfacesOf(agent) };
}

/** The same as its protocol buffers have it, whose security looks like that of 1.0. */
function cardV03Rest(agent: AgentDescription, facts: ServerFacts): object {
  return {
    ...cardV03Open(agent, facts),
    securitySchemes: securitySchemes(facts),
    security: securityRequirements(facts),
  };
}

const schemesV03: Record<SchemeName, object> = {
  bearer: { type: 'http', scheme: 'bearer' },
  apiKey: { type: 'apiKey', in: 'header', name: 'X-API-Key' },
};

const schemes: Record<SchemeName, object> = {
  bearer: { httpAuthSecurityScheme: { scheme: 'Bearer' } },
  apiKey: { apiKeySecurityScheme: { location: 'header', name: 'X-API-Key' } },
};

/** What an agent says about itself. */
export interface AgentDescription {
  name: string;
  description: string;
  version: string;
  /** Address at which others reach the service, without `/a2a`. */
  publicUrl: string;
  provider?: { organization: string; url: string };
  documentationUrl?: string;
  iconUrl?: string;
  /** Media types; default plain text in, Markdown out. */
  inputModes?: readonly string[];
  outputModes?: readonly string[];
  skills: readonly AgentSkill[];
  /** Beside those that the server itself brings. */
  extensions?: readonly AgentExtension[];
  /** Where others reach gRPC: `host:port`, which all SDKs dial, or an `http(s)` URL, as the text of 0.3 has it. */
  grpcAddress?: string | undefined;
  /** Agents behind the endpoint that callers can choose. */
  tenants?: readonly string[];
}

export interface AgentSkill {
  id: string;
  name: string;
  description: string;
  tags: readonly string[];
  examples?: readonly string[];
  inputModes?: readonly string[];
  outputModes?: readonly string[];
}

export interface AgentExtension {
  uri: string;
  description: string;
  /** Callers who do not declare it are refused. */
  required?: boolean;
  params?: Record<string, unknown>;
}

/** Capabilities of the server, which no description may override. */
export interface ServerFacts {
  pushNotifications: boolean;
  schemes: readonly SchemeName[];
  /** Whether one of the schemes is enough. */
  require: 'all' | 'any';
  /** Those who show a key read more than the public card. */
  extendedCard: boolean;
}

export const defaultInputModes: readonly string[] = ['text/plain'];
export const defaultOutputModes: readonly string[] = ['text/markdown', 'text/plain'];

const ownExtensions: readonly AgentExtension[] = [
  {
    uri: 'urn:trunkline:a2a:hitl-mode-v1',
    description: 'A task may ask its caller a question and wait in input-required for the answer.',
  },
  {
    uri: 'urn:trunkline:a2a:tool-call-v1',
    description: 'Tool calls are streamed as data parts of artifact updates.',
  },
  {
    uri: principalExtension,
    description: 'A message of a service of the same installation says, signed, on whose behalf it is sent.',
  },
];

export function extensionsOf({ extensions = [] }: AgentDescription): readonly AgentExtension[] {
  return [...ownExtensions, ...extensions];
}

/**
 * One card for clients of either version, as they ask before they know which one we speak: 1.0 tells implementations to
 * ignore fields that they do not know, and those of 0.3 look for theirs.
 */
function mergedCard(agent: AgentDescription, facts: ServerFacts): object {
  const older = cardV03(agent, facts);
  const newer = cardV10(agent, facts);
  const schemeNames = facts.schemes.map((name) => [name, { ...schemesV03[name], ...schemes[name] }]);
  return {
    ...older,
    ...newer,
    capabilities: { ...older.capabilities, ...newer.capabilities },
    securitySchemes: Object.fromEntries(schemeNames),
  };
}

/** The card of 1.0, with no field that its schema does not know. */
function cardV10(agent: AgentDescription, facts: ServerFacts) {
  return {
    ...commonFields(agent),
    supportedInterfaces: interfacesOf(agent),
    capabilities: {
      streaming: true,
      pushNotifications: facts.pushNotifications,
      extensions: extensionsOf(agent).map((extension) => ({ required: false, ...extension })),
      extendedAgentCard: facts.extendedCard,
    },
    securitySchemes: securitySchemes(facts),
    securityRequirements: securityRequirements(facts),
  };
}

/** Both versions over all transports; tenants are a thing of 1.0. */
function interfacesOf(agent: AgentDescription): object[] {
  const { publicUrl, grpcAddress, tenants = [] } = agent;
  const url = endpointOf(publicUrl);
  const bindings = ['JSONRPC', 'HTTP+JSON'];
  const versions = ['1.0', '0.3'];
  const own = versions.flatMap((protocolVersion) =>
    bindings.map((protocolBinding) => ({ url, protocolBinding, protocolVersion })),
  );
  const theirs = tenants.flatMap((tenant) =>
    bindings.map((protocolBinding) => ({ url, protocolBinding, tenant, protocolVersion: '1.0' })),
  );
  if (grpcAddress === undefined) return [...own, ...theirs];
  const grpc = versions.map((protocolVersion) => ({
    url: hostAndPort(grpcAddress),
    protocolBinding: 'GRPC',
    protocolVersion,
  }));
  return [...own, ...grpc, ...theirs];
}

/** 1.0 writes the address of gRPC without a scheme. */
function hostAndPort(address: string): string {
  if (!address.includes('://')) return address;
  const { protocol, hostname, port } = new URL(address);
  return `${hostname}:${port || (protocol === 'https:' ? 443 : 80)}`;
}

function endpointOf(publicUrl: string): string {
  return `${publicUrl.replace(/\/+$/, '')}/a2a`;
}

/** Each entry is a set of schemes that together let a caller in. */
function requirementsOf({ schemes: names, require }: ServerFacts): SchemeName[][] {
  if (names.length === 0) return [];
  return require === 'all' ? [[...names]] : names.map((name) => [name]);
}

function securitySchemes({ schemes: names }: ServerFacts): object {
  return Object.fromEntries(names.map((name) => [name, schemes[name]]));
}

function securityRequirements(facts: ServerFacts): object[] {
  return requirementsOf(facts).map((names) => ({
    schemes: Object.fromEntries(names.map((name) => [name, { list: [] }])),
  }));
}

/** `merged` is for readers of the card who name no version, `pure-v03` for those who name 0.3. */
export type CardForm = Dialect['name'] | 'merged' | 'pure-v03';

const builders: Record<CardForm, (agent: AgentDescription, facts: ServerFacts) => object> = {
  v03: cardV03Open,
  'pure-v03': cardV03,
  'v03-rest': cardV03Rest,
  v10: cardV10,
  merged: mergedCard,
};

export function buildCard(
  form: CardForm,
  agent: AgentDescription,
  facts: ServerFacts,
  signer: CardSigner | undefined,
): object {
  const card = builders[form](agent, facts);
  // What is signed is the form of 1.0; the merged card holds it too.
  if (signer === undefined || (form !== 'v10' && form !== 'merged')) return card;
  return signer.sign(card, `${agent.publicUrl.replace(/\/+$/, '')}${jwksPath}`);
}

interface CardRouteOptions {
  card(form: CardForm): object;
  now(): number;
  /** Undefined where cards are not signed. */
  jwks: object | undefined;
  /** Runs before the public paths; undefined where the card is for everyone. */
  guard: MiddlewareHandler | undefined;
}

/** Serves the same card at both well-known paths and at the endpoint; a named version gets its pure form. */
export function mountCard(app: Hono<AppEnv>, { card, guard, now, jwks }: CardRouteOptions): void {
  const versions = new CardVersions(now);
  for (const path of ['/.well-known/agent-card.json', '/.well-known/agent.json', '/a2a']) {
    if (guard !== undefined) app.get(path, guard);
    const described = describeRoute({
      summary: 'Get the card: what the agent does, and how to talk to it',
      headers: { 'A2A-Version': 'The version of A2A whose card you want.' },
    });
    app.get(path, described, (context) => {
      const form = wantedForm(context);
      return cardAnswer(context, versions.of(form, card(form)));
    });
  }
  if (jwks === undefined) return;
  const keys = describeRoute({ summary: 'Get the public keys that sign the card' });
  app.get(jwksPath, keys, (context) => context.json(jwks, 200, { 'cache-control': 'public, max-age=3600' }));
}

/** Callers that name an unknown version still get a card: it lists the versions we speak. */
function wantedForm(context: Context): CardForm {
  const version = (versionHeader(context) ?? '').trim();
  if (/^0\.3(\.|$)/.test(version)) return 'pure-v03';
  return /^1(\.0)?(\.|$)/.test(version) ? 'v10' : 'merged';
}

interface CardVersion {
  body: string;
  etag: string;
  /** When this text was first given out, in whole seconds. */
  modifiedAt: number;
}

/** Remembers since when a card reads as it does. */
class CardVersions {
  readonly #now: () => number;
  readonly #latest = new Map<CardForm, CardVersion>();

  constructor(now: () => number) {
    this.#now = now;
  }

  of(form: CardForm, card: object): CardVersion {
    const body = JSON.stringify(card);
    const known = this.#latest.get(form);
    if (known?.body === body) return known;
    const etag = `"${createHash('sha256').update(body).digest('base64url').slice(0, 27)}"`;
    const version = { body, etag, modifiedAt: Math.floor(this.#now() / 1000) * 1000 };
    this.#latest.set(form, version);
    return version;
  }
}

function cardAnswer(context: Context, version: CardVersion): Response {
  const { body, etag, modifiedAt } = version;
  const headers = {
    'cache-control': 'public, max-age=60',
    etag,
    'last-modified': new Date(modifiedAt).toUTCString(),
    vary: 'A2A-Version',
  };
  if (isUnchanged(context, version)) return new Response(null, { status: 304, headers });
  return new Response(body, { headers: { ...headers, 'content-type': 'application/json' } });
}

/** The tag decides where it is given: two cards of one second have the same time. */
function isUnchanged({ req }: Context, { etag, modifiedAt }: CardVersion): boolean {
  const tags = req.header('if-none-match');
  if (tags !== undefined) return tags.split(',').some((tag) => ['*', etag, `W/${etag}`].includes(tag.trim()));
  return Date.parse(req.header('if-modified-since') ?? '') >= modifiedAt;
}
