import { mountPage, StatusPage } from '@trunkline/ui';
import '@trunkline/ui/styles.css';

const LABELS = { graph_compiled: 'Ready to run', setup_complete: 'Setup complete', ui: 'Interface' };

mountPage(<StatusPage service="agent" labels={LABELS} />, {
  keyName: 'core.authToken',
  scheme: 'bearer',
  owner: 'the agent service',
});
