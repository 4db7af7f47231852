import type { Folders } from '../../onboarding/steps.ts';
import type { CloudAccount } from './account.ts';

const folderType = 'application/vnd.google-apps.folder';

/** Folders of projects. */
export function createFolders(account: CloudAccount | undefined): Folders {
  return {
    off:
      account === undefined
        ? 'CLOUD_CLIENT_ID, CLOUD_CLIENT_SECRET and CLOUD_REFRESH_TOKEN are not set'
        : undefined,
    async ensureFolder(name, parentId, signal) {
      if (account === undefined) throw new Error('The cloud suite is not configured.');
      const drive = await account.drive();
      const q = `name = '${quoted(name)}' and '${quoted(parentId)}' in parents and mimeType = '${folderType}' and trashed = false`;
      const shared = { supportsAllDrives: true };
      const found = await account.call(signal, (options) =>
        drive.files.list({ q, fields: 'files(id)', includeItemsFromAllDrives: true, ...shared }, options),
      );
      const known = found.data.files?.[0]?.id;
      if (known) return { id: known, created: false };
      const requestBody = { name, mimeType: folderType, parents: [parentId] };
      const made = await account.call(signal, (options) =>
        drive.files.create({ requestBody, fields: 'id', ...shared }, options),
      );
      return { id: made.data.id ?? '', created: true };
    },
  };
}

function quoted(text: string): string {
  return text.replace(/[\\']/g, '\\$&');
}
