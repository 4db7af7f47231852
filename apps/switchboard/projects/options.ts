import { group, list, text, url } from '@trunkline/config';

export const projectOptions = group('Projects', {
  projectRegistryUrl: url({
    env: 'PROJECT_REGISTRY_URL',
    doc: 'Address of the list of projects, asked for every 5 minutes.',
    defaultDoc: 'the list that PROJECT_SYNC_ORG or PROJECT_SYNC_BASE compiles here',
  }),
  projectSyncOrganisation: text({
    env: 'PROJECT_SYNC_ORG',
    doc: 'Organisation at the code host: its repositories with the topic PROJECT_SYNC_TOPIC are projects; looked through every 15 minutes.',
  }),
  projectSyncTopic: text({
    env: 'PROJECT_SYNC_TOPIC',
    default: 'trunkline',
    doc: 'The topic that marks a repository as a project.',
  }),
  projectSyncBase: list({
    env: 'PROJECT_SYNC_BASE',
    default: [],
    check: (name) => /^[\w.-]+\/[\w.-]+$/.test(name),
    expected: 'owner/repo',
    doc: 'Repositories that are projects in any case.',
  }),
});
