import { isIP } from 'node:net';
import { keyVariables } from '@trunkline/secrets';
import { defaultHome } from '../secrets/references.ts';
import { choice, directory, file, integer, isAddressRange, json, list, text, toggle, url } from './makers.ts';
import { group } from './option.ts';
import { requestHeaders, secretsInHeaders } from './request-headers.ts';

/** The names of `LOG_LEVEL`. */
export const LOG_LEVELS = ['DEBUG', 'INFO', 'WARNING', 'ERROR'] as const;

/** The model that serves where a service has no setting of its own. */
export const modelOptions = group('Model', {
  llmGatewayUrl: url({
    env: 'LLM_GATEWAY_URL',
    doc: 'Address of your model: any OpenAI-compatible endpoint, usually ending in /v1. Ollama on this machine is http://127.0.0.1:11434/v1.',
    defaultDoc: 'the chat role in models.yaml (page /setup/model), else the offline demo model',
  }),
  llmApiKey: text({
    env: 'LLM_API_KEY',
    secret: true,
    doc: 'API key for that endpoint. Any text will do if the endpoint asks for none.',
  }),
  llmHeaders: json({
    env: 'LLM_HEADERS',
    secret: true,
    schema: requestHeaders,
    hidden: secretsInHeaders,
    expected: 'a JSON object of headers such as {"HTTP-Referer": "https://example.org"}',
    doc: 'More headers for that endpoint, as a JSON object: what a gateway such as Portkey, Helicone or OpenRouter asks for. They go to LLM_GATEWAY_URL alone; an Authorization header there wins over the key.',
  }),
  llmModel: text({
    env: 'LLM_MODEL',
    doc: 'Name of the model, as the endpoint lists it, such as qwen3:8b.',
    defaultDoc: 'the chat role in models.yaml',
  }),
  llmFastModel: text({
    env: 'LLM_FAST_MODEL',
    doc: 'A smaller, faster model for short calls such as plans, titles and summaries.',
    defaultDoc: 'the helper role in models.yaml, else LLM_MODEL',
  }),
  llmJudgeModel: text({
    env: 'LLM_JUDGE_MODEL',
    doc: 'Model that checks what another model wrote, such as the citations of a report.',
    defaultDoc: 'the judge role in models.yaml, else LLM_MODEL',
  }),
  llmVisionModel: text({
    env: 'LLM_VISION_MODEL',
    doc: 'Model that answers messages with images when LLM_MODEL cannot see them.',
    defaultDoc: 'the vision role in models.yaml',
  }),
  llmContextTokens: integer({
    env: 'LLM_CONTEXT_TOKENS',
    doc: 'Context window of LLM_MODEL in tokens: prompt and answer together.',
    min: 256,
    defaultDoc: 'what models.yaml or the endpoint says',
  }),
  llmTools: choice({
    env: 'LLM_TOOLS',
    doc: 'How LLM_MODEL gets its tools: native (through the API), prompted (described in the prompt) or none.',
    values: ['native', 'prompted', 'none'],
    defaultDoc: 'native, until the endpoint refuses it',
  }),
  llmFirstTokenTimeout: integer({
    env: 'LLM_FIRST_TOKEN_TIMEOUT_S',
    doc: 'Seconds to wait for the first token of an answer. A keep-alive from the endpoint extends the wait.',
    min: 1,
    defaultDoc: '900 for a model on the local network, otherwise 120',
  }),
  llmIdleTimeout: integer({
    env: 'LLM_IDLE_TIMEOUT_S',
    doc: 'Seconds an answer may pause once it has started.',
    min: 1,
    defaultDoc: '180 for a model on the local network, otherwise 90',
  }),
  llmAnswerTimeout: integer({
    env: 'LLM_ANSWER_TIMEOUT_S',
    doc: 'Seconds a whole answer may take, however steadily it comes. It ends answers that have no end.',
    min: 1,
    defaultDoc: '7200',
  }),
  llmLoadingTimeout: integer({
    env: 'LLM_LOADING_TIMEOUT_S',
    doc: 'Seconds to wait while the endpoint loads the model.',
    min: 0,
    defaultDoc: '600 for a model on the local network, otherwise 300',
  }),
  llmGguf: file({
    env: 'LLM_GGUF',
    mustExist: true,
    doc: 'A GGUF model file that Trunkline runs itself. Use it instead of LLM_GATEWAY_URL.',
    defaultDoc: 'a .gguf file in TRUNKLINE_HOME/models, if there is one and LLM_GATEWAY_URL is not set',
  }),
  llmGgufContext: integer({
    env: 'LLM_GGUF_CONTEXT',
    doc: 'Context window of the GGUF model in tokens. A larger window takes more memory.',
    min: 256,
    defaultDoc: 'as much as fits into memory, at most 16384',
  }),
  llmGgufSequences: integer({
    env: 'LLM_GGUF_SEQUENCES',
    doc: 'Conversations the GGUF model answers at the same time. Each takes memory for its context.',
    min: 1,
    max: 16,
    default: 2,
  }),
  llmGgufThreads: integer({
    env: 'LLM_GGUF_THREADS',
    doc: 'CPU threads for the GGUF model.',
    min: 1,
    max: 512,
    defaultDoc: 'the performance cores of this machine',
  }),
  llmGgufIdleMinutes: integer({
    env: 'LLM_GGUF_IDLE_MINUTES',
    doc: 'Minutes without a request before the GGUF model is unloaded. The next request loads it again. 0 keeps it loaded.',
    min: 0,
    default: 30,
  }),
  llmGgufPort: integer({
    env: 'LLM_GGUF_PORT',
    doc: 'Local port of the GGUF model. Services that run alone but share TRUNKLINE_HOME use one model through it. 0 takes any free port.',
    min: 0,
    max: 65_535,
    default: 7868,
  }),
});

export const homeOptions = {
  ...group('Data', {
    trunklineHome: directory({
      env: 'TRUNKLINE_HOME',
      doc: 'Folder for all data. Each service has its own folder in it.',
      default: defaultHome,
    }),
    auditRetentionDays: integer({
      env: 'AUDIT_RETENTION_DAYS',
      doc: 'Days to keep entries of the audit log (audit.db in TRUNKLINE_HOME).',
      min: 1,
      default: 365,
    }),
    auditRequired: toggle({
      env: 'AUDIT_REQUIRED',
      doc: 'While the audit log cannot be written (full disk, wrong file rights), tools that do more than read are refused. Off: they run, and only the log of the service says that their entries are missing.',
      default: true,
    }),
    quotaMb: integer({
      env: 'QUOTA_MB',
      doc: 'Megabytes each person may store of each kind: tasks, conversations, notes and files. The same limit counts for what a person uploads to voice in a day; SWITCHBOARD_DAILY_MB limits what a person sends to the switchboard. All anonymous callers share one quota; the operator has no limit. 0 turns quotas off.',
      min: 0,
      default: 1024,
    }),
  }),
  ...group('Operator', {
    noBrowser: toggle({
      env: 'TRUNKLINE_NO_BROWSER',
      flag: '--no-open',
      doc: "Only prints the operator's sign-in link. Does not open a browser.",
      default: false,
    }),
    trunklineOpen: toggle({
      env: 'TRUNKLINE_OPEN',
      doc: "Turns the operator's key off: everyone who reaches a service may configure it and approve what agents do. Only for a machine you throw away.",
      default: false,
    }),
  }),
  ...group('Stored secrets', {
    secretsKey: text({
      env: keyVariables.key,
      secret: true,
      doc: 'Key that encrypts the stored secrets (secrets.db in TRUNKLINE_HOME): at least 32 random characters.',
      defaultDoc: 'the key in TRUNKLINE_SECRETS_KEY_FILE',
    }),
    secretsKeyFile: file({
      env: keyVariables.file,
      doc: 'File that holds this key. Trunkline creates it with the first secret.',
      defaultDoc: 'secrets-key in TRUNKLINE_HOME',
    }),
    secretsKeyring: toggle({
      env: keyVariables.keyring,
      doc: 'Keeps this key in the system keyring instead of a file (secret-tool on Linux, security on macOS).',
      default: false,
    }),
  }),
};

/** Where people sign in with an account that they have elsewhere. */
export const oidcOptions = group('Sign-in at an OpenID Connect provider', {
  oidcIssuer: text({
    env: 'OIDC_ISSUER',
    doc: 'Lets people sign in at an OpenID Connect provider: its issuer, such as https://id.example.com/realms/home. Register /operator/oidc/callback of each service as a callback there.',
    defaultDoc: 'no sign-in by a provider',
    check: isIssuer,
    expected:
      'an https address without a query (http only on this machine), not that of the discovery document',
  }),
  oidcClientId: text({ env: 'OIDC_CLIENT_ID', doc: 'Client id of Trunkline at the provider.' }),
  oidcClientSecret: text({
    env: 'OIDC_CLIENT_SECRET',
    secret: true,
    doc: 'Client secret. Leave it blank for a public client.',
  }),
  oidcName: text({
    env: 'OIDC_NAME',
    doc: 'Name of the provider on the button "Sign in with ...".',
    default: 'single sign-on',
  }),
  oidcRole: choice({
    env: 'OIDC_ROLE',
    doc: 'Role for people who sign in for the first time.',
    values: ['member', 'guest'],
    ignoreCase: true,
    defaultDoc: 'none: they are refused until the operator adds them',
  }),
  oidcRoleClaim: text({
    env: 'OIDC_ROLE_CLAIM',
    doc: "Claim that lists a person's groups. If set, OIDC_ROLES decides the role at each sign-in. People in none of those groups get OIDC_ROLE, or are refused.",
  }),
  oidcRoles: list({
    env: 'OIDC_ROLES',
    doc: 'Roles by group, such as admins=operator,staff=member.',
    default: [],
    defaultDoc: 'none',
    check: (entry) => /^.+=(operator|member|guest)$/.test(entry),
    expected: 'a group, = and operator, member or guest',
  }),
});

/** Without TLS others could read and change what goes to the provider. */
function isIssuer(issuer: string): boolean {
  const url = URL.parse(issuer);
  if (url === null || url.pathname.includes('/.well-known/') || url.username !== '') return false;
  if (url.search !== '' || url.hash !== '') return false;
  return (
    url.protocol === 'https:' ||
    (url.protocol === 'http:' && /^(127\.[\d.]+|\[::1\]|localhost)$/.test(url.hostname))
  );
}

export const logOptions = group('Logging', {
  logLevel: choice({
    env: 'LOG_LEVEL',
    doc: 'How much to log: DEBUG logs everything, ERROR only failures.',
    values: LOG_LEVELS,
    ignoreCase: true,
    default: 'INFO',
  }),
});

export const pairingOptions = group('Strangers on chat and mail', {
  pairing: choice({
    env: 'PAIRING',
    doc: 'Whether the operator must approve unknown senders on chat and mail before agents work for them. off lets everyone who can write there use the agents.',
    values: ['required', 'off'],
    default: 'required',
  }),
});

/** Where webhooks of A2A tasks may go although the address is private. */
export const pushOptions = group('Webhooks', {
  pushAllowedHosts: list({
    env: 'PUSH_NOTIFICATION_ALLOWED_HOSTS',
    default: [],
    doc: 'Hosts that may receive webhooks, whatever their address.',
  }),
  pushAllowedCidrs: list({
    env: 'PUSH_NOTIFICATION_ALLOWED_CIDRS',
    default: [],
    check: isAddressRange,
    expected: 'an address range such as 10.0.0.0/8',
    doc: 'Private address ranges that may receive webhooks.',
  }),
});

/** Who may ask a service, and how much. */
export const hostOptions = group('Callers and proxies', {
  allowedHosts: list({
    env: 'ALLOWED_HOSTS',
    doc: 'Public names the service answers to while it has no key, such as the name of your proxy. Addresses, local names and the host of its public address always work.',
    default: [],
  }),
  trustedProxies: list({
    env: 'TRUSTED_PROXIES',
    doc: 'Proxies in front of the service. Their X-Forwarded-For header tells who sent a request, for rate limits.',
    default: [],
    defaultDoc: 'none',
    check: (proxy) => isIP(proxy) !== 0 || isAddressRange(proxy),
    expected: 'an address such as 10.0.0.2 or a range such as 10.0.0.0/8',
  }),
  requestLimit: integer({
    env: 'REQUEST_LIMIT',
    doc: 'Requests one caller may send in a minute. Further requests get status 429. The operator has no limit; 0 turns it off for all.',
    min: 0,
    default: 30_000,
  }),
});

/** What the guarded fetch may reach although it is private. */
export const fetchOptions = group('Private addresses', {
  fetchAllowedHosts: list({
    env: 'FETCH_ALLOWED_HOSTS',
    doc: 'Hosts the services may read although their address is private, such as your intranet or another agent.',
    default: [],
  }),
  fetchAllowedCidrs: list({
    env: 'FETCH_ALLOWED_CIDRS',
    doc: 'Private address ranges the services may read.',
    default: [],
    check: isAddressRange,
    expected: 'an address range such as 10.0.0.0/8',
  }),
});

/** How programs run that a model, a plugin or a configuration chose. */
export const sandboxOptions = group('Sandbox', {
  sandbox: choice({
    env: 'TRUNKLINE_SANDBOX',
    doc: 'Isolation of commands, MCP servers, coding agents and plugins. auto uses a sandbox (bubblewrap, or a container with SANDBOX_IMAGE) and refuses to run them where there is none, except programs with sandbox: off in their own settings; require refuses those too; off never uses one, and programs have all rights of the account.',
    values: ['auto', 'require', 'off'],
    ignoreCase: true,
    default: 'auto',
  }),
  sandboxHosts: list({
    env: 'TRUNKLINE_SANDBOX_HOSTS',
    doc: "Hosts that agents' commands may reach from the sandbox, such as registry.example.com, *.example.com or db.example.com:5432. * opens the whole network.",
    default: [],
    defaultDoc: 'none',
  }),
  sandboxMemoryMb: integer({
    env: 'TRUNKLINE_SANDBOX_MEMORY_MB',
    doc: 'Megabytes of memory for one sandboxed program, including everything it starts.',
    default: 2048,
    min: 64,
  }),
  sandboxImage: text({
    env: 'SANDBOX_IMAGE',
    doc: 'Container image (podman or docker) to run programs in where bubblewrap is missing. It must be on this machine; Trunkline never pulls it.',
  }),
});

/** Tracing is off until both keys are set. */
export const tracingOptions = group('Tracing', {
  tracePublicKey: text({
    env: 'TRACE_PUBLIC_KEY',
    doc: 'Public key of a Langfuse-compatible server. With both keys set, each turn is traced there.',
  }),
  traceSecretKey: text({ env: 'TRACE_SECRET_KEY', secret: true, doc: 'Secret key of that server.' }),
  traceHost: url({
    env: ['TRACE_HOST', 'TRACE_URL'],
    doc: 'Address of that server.',
    default: 'http://127.0.0.1:3001',
  }),
});

/** Files that messages and answers carry. */
export const contentOptions = group('Files', {
  maxFileMb: integer({
    env: 'CORE_MAX_FILE_MB',
    default: 10,
    min: 1,
    max: 200,
    doc: 'Largest file in megabytes that the agent and the switchboard take with a message or hand out.',
  }),
  filesMb: integer({
    env: 'CORE_FILES_MB',
    default: 2048,
    min: 1,
    doc: 'Megabytes that all files of messages and answers may take together in each of the two. In the agent they go with their conversation, in the switchboard after a day.',
  }),
});
