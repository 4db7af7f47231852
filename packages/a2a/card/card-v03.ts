import type { SchemeName } from '../http/credentials-guard.ts';
import {
  type AgentDescription,
  defaultInputModes,
  defaultOutputModes,
  extensionsOf,
  type ServerFacts,
} from './agent-card.ts';
import {
  endpointOf,
  interfacesOf,
  requirementsOf,
  securityRequirements,
  securitySchemes,
} from './card-v10.ts';

/** The card of 0.3, which tells of the newer interfaces too. */
export function cardV03(agent: AgentDescription, facts: ServerFacts): object {
  const url = endpointOf(agent.publicUrl);
  return {
    protocolVersion: '0.3.0',
    name: agent.name,
    description: agent.description,
    url,
    preferredTransport: 'JSONRPC',
    additionalInterfaces: ['JSONRPC', 'HTTP+JSON'].map((transport) => ({ url, transport })),
    supportedInterfaces: interfacesOf(agent.publicUrl),
    provider: agent.provider,
    version: agent.version,
    documentationUrl: agent.documentationUrl,
    capabilities: {
      streaming: true,
      pushNotifications: facts.pushNotifications,
      stateTransitionHistory: false,
      extensions: extensionsOf(agent),
    },
    securitySchemes: Object.fromEntries(facts.schemes.map((name) => [name, schemes[name]])),
    security: requirementsOf(facts).map((names) => Object.fromEntries(names.map((name) => [name, []]))),
    defaultInputModes: agent.inputModes ?? defaultInputModes,
    defaultOutputModes: agent.outputModes ?? defaultOutputModes,
    skills: agent.skills,
    supportsAuthenticatedExtendedCard: facts.schemes.length > 0,
    iconUrl: agent.iconUrl,
  };
}

/** The same as its protocol buffers have it, whose security looks like that of 1.0. */
export function cardV03Rest(agent: AgentDescription, facts: ServerFacts): object {
  return {
    ...cardV03(agent, facts),
    securitySchemes: securitySchemes(facts),
    security: securityRequirements(facts),
  };
}

const schemes: Record<SchemeName, object> = {
  bearer: { type: 'http', scheme: 'bearer' },
  apiKey: { type: 'apiKey', in: 'header', name: 'X-API-Key' },
};
