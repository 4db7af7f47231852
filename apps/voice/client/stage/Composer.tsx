import { IconButton } from '@trunkline/ui';
import { SendHorizontal } from 'lucide-react';
import { useState } from 'react';

/** For what is easier typed than said. */
export function Composer({ onSend }: { onSend(text: string): void }) {
  const [text, setText] = useState('');
  const words = text.trim();
  return (
    <form
      className="flex items-center gap-1 border-line border-t bg-raised px-3 py-2"
      onSubmit={(event) => {
        event.preventDefault();
        if (words === '') return;
        onSend(words);
        setText('');
      }}
    >
      <input
        type="text"
        aria-label="Message"
        placeholder="Type instead"
        autoComplete="off"
        enterKeyHint="send"
        value={text}
        onChange={(event) => setText(event.target.value)}
        className="h-10 min-w-0 flex-1 rounded-corner bg-transparent px-2 text-16 text-ink placeholder:text-muted focus-visible:-outline-offset-2"
      />
      <IconButton type="submit" label="Send" icon={<SendHorizontal aria-hidden />} disabled={words === ''} />
    </form>
  );
}
