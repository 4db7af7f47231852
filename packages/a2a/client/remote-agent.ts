/** Another agent that we may call. */
export interface RemoteAgent {
  /** For people: it stands in error messages. */
  name: string;
  /** The full address of its A2A endpoint. */
  url: string;
  credentials?: RemoteCredentials;
  /** Set for our own services: the token between them, and the name under which this one hands requests on. */
  peer?: { token: string; name: string };
  /** Sent with every request. */
  headers?: Readonly<Record<string, string>>;
  /**
   * `discover` (default) reads the agent's card and speaks the best version both know.
   * `0.3` sends what the contracts prescribe, with no request but the one.
   */
  protocol?: 'discover' | '0.3';
}

/** Several may be set; all that are set are sent. */
export interface RemoteCredentials {
  /** Sent as `X-API-Key`. */
  apiKey?: string;
  /** Sent as `Authorization: Bearer`. */
  bearer?: string;
  /** Signs each request. */
  hmacSecret?: string;
}
