import { Inspector, Tabs } from '@trunkline/ui';
import { useState } from 'react';
import type { Account } from '../../api-types.ts';
import { AdminTab } from './AdminTab.tsx';
import { OrbTab, type OrbTabProps } from './OrbTab.tsx';
import { VoiceTab, type VoiceTabProps } from './VoiceTab.tsx';

interface DrawerProps {
  open: boolean;
  onClose(): void;
  account: Account | undefined;
  voice: VoiceTabProps;
  orb: OrbTabProps;
}

/** Settings: Voice for everyone; the orb and the controls of the service for admins. */
export function Drawer({ open, onClose, account, voice, orb }: DrawerProps) {
  const [tab, setTab] = useState('voice');
  const isAdmin = account?.role === 'admin';
  return (
    <Inspector open={open} onClose={onClose} title="Settings">
      {isAdmin ? (
        <Tabs
          label="Settings"
          value={tab}
          onChange={setTab}
          tabs={[
            { id: 'voice', label: 'Voice', content: <VoiceTab {...voice} /> },
            { id: 'orb', label: 'Orb', content: <OrbTab {...orb} /> },
            { id: 'admin', label: 'Admin', content: <AdminTab skills={voice.skills} /> },
          ]}
        />
      ) : (
        <VoiceTab {...voice} />
      )}
    </Inspector>
  );
}
