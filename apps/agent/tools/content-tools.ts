import { maySee } from '@trunkline/identity';
import { contentTools as createContentTools } from '@trunkline/tools';
import { defineToolModule } from './tool-module.ts';

/** Files that come with messages, and files for whoever asks. */
export const contentTools = defineToolModule({
  name: 'content',
  tools: ({ files, actor }) =>
    files === undefined
      ? []
      : createContentTools({
          nameOf: (id) => files.find(id)?.name,
          async read(id, { sessionId, principal }) {
            const file = files.find(id);
            const isTheirs =
              file !== undefined &&
              (file.sessionId === sessionId || maySee(actor(principal).viewer, file.owner));
            const read = isTheirs ? files.text(id) : undefined;
            return read && file && { name: file.name, text: read.text };
          },
        }),
});
