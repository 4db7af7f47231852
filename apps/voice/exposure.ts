import { type KeyFacts, keyFacts } from '@trunkline/http';
import { type Exposure, withGrpcPort } from '@trunkline/service';
import type { VoiceOptions } from './options.ts';

/** Who may call, as far as it matters to those who look for weak spots. */
export interface RosterExposure {
  /** The keys of the people of users.yaml, by their ids. */
  keys: Readonly<Record<string, KeyFacts>>;
  /** Everybody may call: there is no roster. */
  isOpen: boolean;
  /** There is no roster, and others reach the service or its neighbours ask for keys. */
  isOperatorOnly: boolean;
}

/** How others reach the service. Other agents show A2A_AUTH_TOKEN, people a key of the roster. */
export function voiceExposures(options: VoiceOptions, roster: RosterExposure): Exposure[] {
  const { host, a2aAuthToken: token, grpcPort, translatorPort } = options;
  const { isOperatorOnly } = roster;
  const variable = 'A2A_AUTH_TOKEN';
  const personal = Object.entries(roster.keys).map(([id, facts]) => [
    `the key of ${id} in users.yaml`,
    facts,
  ]);
  const keys = { ...(token && { [variable]: keyFacts(token) }), ...Object.fromEntries(personal) };
  const isOpen = token === undefined && !isOperatorOnly;
  const operator = isOperatorOnly && { variable: "the operator's key" };
  const service = { name: 'voice', host, isOpen, variable, keys, ...(token === undefined && operator) };
  const translator = {
    ...{ name: 'speech translator', host, isOpen: roster.isOpen },
    ...{ variable: 'users.yaml', ...operator },
  };
  return [...withGrpcPort(service, grpcPort), ...(translatorPort === undefined ? [] : [translator])];
}
