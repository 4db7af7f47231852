import {
  choice,
  contentOptions,
  directory,
  file,
  group,
  grpcOptions,
  homeOptions,
  hostOptions,
  integer,
  list,
  logOptions,
  modelOptions,
  natsOptions,
  type OptionsOf,
  type OptionTable,
  oidcOptions,
  pairingOptions,
  pushOptions,
  sandboxOptions,
  text,
  toggle,
  url,
} from '@trunkline/config';

/** Each surface declares its own settings. */
export const coreOptions = {
  port: integer({
    env: 'SWITCHBOARD_PORT',
    flag: '--port',
    default: 3000,
    min: 0,
    max: 65_535,
    doc: 'Port of the switchboard.',
  }),
  host: text({
    env: 'SWITCHBOARD_HOST',
    flag: '--host',
    default: '127.0.0.1',
    doc: 'Address the switchboard listens on. 0.0.0.0 listens on all; set SWITCHBOARD_API_KEY first.',
  }),
  apiKey: text({
    env: 'SWITCHBOARD_API_KEY',
    secret: true,
    doc: 'Key of the switchboard, sent as X-API-Key or bearer token. The switchboard needs one to listen beyond this machine; keys.yaml in its workspace can hold more.',
  }),
  workspaceDirectory: directory({
    env: 'WORKSPACE_DIR',
    doc: "Folder with the switchboard's files: agents, channels, routes, schedules, keys. An empty one is filled with an example.",
    defaultDoc: 'switchboard/workspace in TRUNKLINE_HOME',
  }),
  agentsFile: file({
    env: 'AGENTS_YAML',
    doc: 'File that lists agents of other services.',
    defaultDoc: 'agents.yaml in WORKSPACE_DIR',
  }),
  publicUrl: url({
    env: 'SWITCHBOARD_PUBLIC_URL',
    doc: 'Address other services use to reach the switchboard.',
    defaultDoc: 'the address it listens on',
  }),
  ...group('Routing and limits', {
    disableAgentRuntime: toggle({
      env: 'DISABLE_AGENT_RUNTIME',
      default: false,
      anyValue: true,
      doc: 'Does not run the agents in the workspace folder agents/.',
    }),
    disableSkillBroker: toggle({
      env: 'DISABLE_SKILL_BROKER',
      default: false,
      anyValue: true,
      doc: 'Does not use the agents of other services (agents.yaml, agents.d/).',
    }),
    defaultSkill: text({
      env: 'ROUTER_DEFAULT_SKILL',
      doc: 'Skill for messages that match no other rule.',
      defaultDoc: 'the first skill of the helm role in fleet.yaml',
    }),
    skillTimeoutMs: integer({
      env: 'SWITCHBOARD_SKILL_TIMEOUT_MS',
      defaultDoc: '600000; for an agent here as long as its model may take to begin, where that is longer',
      min: 100,
      doc: 'Milliseconds a skill may show no progress. While its model streams, it goes on.',
    }),
    skillTotalTimeoutMs: integer({
      env: 'SWITCHBOARD_SKILL_TOTAL_TIMEOUT_MS',
      default: 21_600_000,
      min: 100,
      doc: 'Milliseconds a skill may take in all, whatever progress it shows.',
    }),
    executorConcurrency: integer({
      env: 'SWITCHBOARD_EXECUTOR_CONCURRENCY',
      default: 8,
      min: 1,
      max: 64,
      doc: 'Requests one agent works on at the same time. Further ones wait in line; callers that wait for an answer get status 503 when the line is full.',
    }),
    executorWaitMs: integer({
      env: 'SWITCHBOARD_EXECUTOR_WAIT_MS',
      default: 86_400_000,
      min: 1000,
      doc: 'Milliseconds accepted work waits, after a restart, for an agent or MCP server that is not back yet. Then it becomes a dead letter, which you can retry.',
    }),
    delegationWaitMs: integer({
      env: 'SWITCHBOARD_DELEGATION_WAIT_MS',
      default: 60_000,
      min: 100,
      doc: 'Milliseconds a request from one agent to another may wait while the other is busy. Then it is refused.',
    }),
    taskPollMs: integer({
      env: 'SWITCHBOARD_TASK_POLL_MS',
      default: 30_000,
      min: 100,
      doc: 'Milliseconds between checks on a task at another service.',
    }),
    shell: choice({
      env: 'SWITCHBOARD_SHELL',
      values: ['ask', 'on', 'off'],
      default: 'ask',
      doc: 'Commands of agents with runCommand: true in their file. ask has the operator approve each, on runs them without asking, off runs none.',
    }),
  }),
  ...group('Search by meaning', {
    vectorUrl: url({
      env: 'VECTOR_URL',
      doc: 'Address of a Qdrant server. With it, agents can search conversations and documents by meaning.',
    }),
    vectorApiKey: text({ env: 'VECTOR_API_KEY', secret: true, doc: 'API key for VECTOR_URL.' }),
    vectorSize: integer({
      env: 'VECTOR_SIZE',
      default: 768,
      min: 1,
      max: 65_536,
      doc: "Dimensions of EMBED_MODEL's vectors.",
    }),
    embedModel: text({
      env: 'EMBED_MODEL',
      defaultDoc: 'the embeddings role in models.yaml, else nomic-embed-text',
      doc: 'Embedding model at LLM_GATEWAY_URL.',
    }),
  }),
  ...group('Webhooks and deliveries', {
    allowUnsigned: toggle({
      env: 'SWITCHBOARD_ALLOW_UNSIGNED',
      default: false,
      doc: 'Accepts webhooks without a signature while their secret is not set. Only where nobody else reaches the port.',
    }),
    dailyMb: integer({
      env: 'SWITCHBOARD_DAILY_MB',
      default: 64,
      min: 1,
      doc: 'Megabytes that each person and program may send to the switchboard in a day, if QUOTA_MB does not allow less. The default is a sixteenth of the journal, so that nobody can push out what others wrote. Each switchboard on one NATS counts for itself: with N of them set 64/N or less.',
    }),
    deliveryRetryMs: integer({
      env: 'SWITCHBOARD_DELIVERY_RETRY_MS',
      default: 1000,
      min: 1,
      doc: 'Milliseconds before a failed delivery is retried. Later pauses grow up to 60 times this.',
    }),
  }),
  ...group('Several switchboards (NATS)', {
    takeoverMs: integer({
      env: 'SWITCHBOARD_TAKEOVER_MS',
      default: 15_000,
      min: 1000,
      doc: 'With NATS_URL: milliseconds after which another switchboard takes over the work of one that went silent.',
    }),
    leaseMs: integer({
      env: 'SWITCHBOARD_LEASE_MS',
      default: 5000,
      min: 1000,
      doc: 'With NATS_URL: milliseconds after which another switchboard takes over the schedules of a leader that is gone.',
    }),
  }),
  ...group('Projects', {
    projectRegistryUrl: url({
      env: 'PROJECT_REGISTRY_URL',
      doc: 'Address of a list of projects, read every 5 minutes.',
      defaultDoc: 'a list made from PROJECT_SYNC_ORG and PROJECT_SYNC_BASE',
    }),
    projectSyncOrganisation: text({
      env: 'PROJECT_SYNC_ORG',
      doc: 'Organisation at the code host. Its repositories with the topic PROJECT_SYNC_TOPIC are projects, read every 15 minutes.',
    }),
    projectSyncTopic: text({
      env: 'PROJECT_SYNC_TOPIC',
      default: 'trunkline',
      doc: 'Topic that marks a repository as a project.',
    }),
    projectSyncBase: list({
      env: 'PROJECT_SYNC_BASE',
      default: [],
      check: (name) => /^[\w.-]+\/[\w.-]+$/.test(name),
      expected: 'owner/repo',
      doc: 'Repositories that are always projects.',
    }),
  }),
  ...group('Operator', {
    operatorTopic: text({
      env: 'OPERATOR_TOPIC',
      default: 'message.outbound.chat.alert',
      doc: 'Topic for messages to the operator, such as message.outbound.chat.dm.user.<id> or message.outbound.messenger.<number>.',
    }),
  }),
  ...grpcOptions('SWITCHBOARD'),
  ...modelOptions,
  ...pairingOptions,
  ...natsOptions,
  ...hostOptions,
  ...pushOptions,
  ...contentOptions,
  ...homeOptions,
  ...oidcOptions,
  ...sandboxOptions,
  ...logOptions,
};

export type CoreOptions = OptionsOf<OptionTable<typeof coreOptions>>;
