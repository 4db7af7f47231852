import { useAttempt, useResource } from '@trunkline/ui';
import { ChevronDown } from 'lucide-react';
import type { Conversation } from './useConversation.ts';
import type { ChatModels } from './wire.ts';

/** Chooses the model of a chat; shows nothing where there is none to choose, as with the demo model. */
export function ModelPicker({ model, chooseModel }: Pick<Conversation, 'model' | 'chooseModel'>) {
  const attempt = useAttempt();
  const { body } = useResource<ChatModels>('/api/chat/models');
  if (body === undefined) return null;
  const { standard, models, problem } = body;
  const isGone = model !== null && !models.some(({ id }) => id === model);
  if (models.length === 0 && !isGone) return null;
  return (
    <label className="relative flex min-w-0 max-w-44 shrink items-center sm:max-w-60">
      <select
        aria-label="Model of this chat"
        value={model ?? ''}
        onChange={({ target }) => void attempt(() => chooseModel(target.value || null))}
        className="h-9 w-full min-w-0 cursor-pointer appearance-none truncate rounded-corner bg-transparent pr-7 pl-2 text-14 text-muted hover:bg-hover pointer-coarse:h-11"
      >
        <option value="">{standard} (standard)</option>
        {isGone && <option value={model}>{model} (no longer offered)</option>}
        {models.map(({ id, name, role }) => (
          <option key={id} value={id}>
            {role === undefined ? name : `${name} (${role})`}
          </option>
        ))}
        {problem !== null && <option disabled>{problem}</option>}
      </select>
      <ChevronDown aria-hidden className="pointer-events-none absolute right-2 size-4 text-muted" />
    </label>
  );
}
