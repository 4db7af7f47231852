import { hashRoute, Tabs, useHashRoute } from '@trunkline/ui';
import { PageFrame } from '../../app/PageFrame.tsx';
import { ConfigEditor } from './ConfigEditor.tsx';
import { ModelSetup } from './ModelSetup.tsx';

/** The model, and the configuration as a whole. */
export default function SettingsPage() {
  const [, tab = 'model'] = useHashRoute();
  const choose = (id: string) => {
    window.location.hash = hashRoute('settings', id);
  };
  return (
    <PageFrame title="Settings" intro="The model that answers, and everything else in the configuration.">
      <Tabs
        label="Settings"
        value={tab === 'configuration' ? tab : 'model'}
        onChange={choose}
        tabs={[
          { id: 'model', label: 'Model', content: <ModelSetup /> },
          { id: 'configuration', label: 'Configuration', content: <ConfigEditor /> },
        ]}
      />
    </PageFrame>
  );
}
