import { describeRoute } from '@trunkline/http';
import type { DelegateBook } from '../delegates/book.ts';
import { wordsOf } from '../errors.ts';
import type { VoiceApp } from './voice-app.ts';

export function mountDelegates(app: VoiceApp, book: DelegateBook): void {
  app.post(
    '/api/delegates/reload',
    describeRoute({ summary: 'Read the delegates anew' }),
    async (context) => {
      try {
        await book.reload();
      } catch (error) {
        return context.json({ error: wordsOf(error) });
      }
      return context.json({ ok: true, delegates: book.entries.map(({ name }) => name) });
    },
  );
}
