import { Badge, Button, writeStored } from '@trunkline/ui';
import type { Account } from '../../api-types.ts';
import { KEY_NAME } from '../keyName.ts';

/** As whom the page calls. */
export function AccountLine({ account }: { account: Account | undefined }) {
  if (account === undefined) return null;
  const signOut = () => {
    writeStored(KEY_NAME, null);
    window.location.reload();
  };
  return (
    <div className="flex items-center gap-2">
      <p className="min-w-0 truncate font-medium">{account.display_name}</p>
      <Badge>{account.role === 'admin' ? 'Admin' : 'User'}</Badge>
      {account.auth_source !== 'empty' && (
        <Button size="small" variant="quiet" className="ml-auto" onClick={signOut}>
          Forget my key
        </Button>
      )}
    </div>
  );
}
