import type { SchemeName } from '../http/credentials-guard.ts';
import {
  type AgentDescription,
  defaultInputModes,
  defaultOutputModes,
  extensionsOf,
  type ServerFacts,
} from './agent-card.ts';

/** The card of 1.0, with no field that its schema does not know. */
export function cardV10(agent: AgentDescription, facts: ServerFacts): object {
  return {
    name: agent.name,
    description: agent.description,
    supportedInterfaces: interfacesOf(agent.publicUrl),
    provider: agent.provider,
    version: agent.version,
    documentationUrl: agent.documentationUrl,
    capabilities: {
      streaming: true,
      pushNotifications: facts.pushNotifications,
      extensions: extensionsOf(agent).map((extension) => ({ required: false, ...extension })),
      extendedAgentCard: facts.schemes.length > 0,
    },
    securitySchemes: securitySchemes(facts),
    securityRequirements: securityRequirements(facts),
    defaultInputModes: agent.inputModes ?? defaultInputModes,
    defaultOutputModes: agent.outputModes ?? defaultOutputModes,
    skills: agent.skills,
    iconUrl: agent.iconUrl,
  };
}

/** Both versions over both transports, all at one address. */
export function interfacesOf(publicUrl: string): object[] {
  const url = endpointOf(publicUrl);
  return ['1.0', '0.3'].flatMap((protocolVersion) =>
    ['JSONRPC', 'HTTP+JSON'].map((protocolBinding) => ({ url, protocolBinding, protocolVersion })),
  );
}

export function endpointOf(publicUrl: string): string {
  return `${publicUrl.replace(/\/+$/, '')}/a2a`;
}

/** Each entry is a set of schemes that together let a caller in. */
export function requirementsOf({ schemes: names, require }: ServerFacts): SchemeName[][] {
  if (names.length === 0) return [];
  return require === 'all' ? [[...names]] : names.map((name) => [name]);
}

export function securitySchemes({ schemes: names }: ServerFacts): object {
  return Object.fromEntries(names.map((name) => [name, schemes[name]]));
}

export function securityRequirements(facts: ServerFacts): object[] {
  return requirementsOf(facts).map((names) => ({
    schemes: Object.fromEntries(names.map((name) => [name, { list: [] }])),
  }));
}

const schemes: Record<SchemeName, object> = {
  bearer: { httpAuthSecurityScheme: { scheme: 'Bearer' } },
  apiKey: { apiKeySecurityScheme: { location: 'header', name: 'X-API-Key' } },
};
