import { CheckboxField } from '@trunkline/ui';

export interface ResearchSettings {
  reviewPlan: boolean;
  /** 0 for no limit. */
  minutes: number;
  sources: SourceKind[];
}

type SourceKind = 'web' | 'encyclopedia' | 'files';

export const DEFAULT_SETTINGS: ResearchSettings = {
  reviewPlan: true,
  minutes: 0,
  sources: ['web', 'encyclopedia', 'files'],
};

const KINDS: readonly { id: SourceKind; label: string }[] = [
  { id: 'web', label: 'Web' },
  { id: 'encyclopedia', label: 'Encyclopedia' },
  { id: 'files', label: 'Your files' },
];

const LIMITS = [
  { value: '0', label: 'No time limit' },
  { value: '5', label: '5 minutes' },
  { value: '15', label: '15 minutes' },
  { value: '60', label: 'An hour' },
];

/** How a report is to be made. */
export function ResearchSettingsForm({
  settings,
  onSettings,
}: {
  settings: ResearchSettings;
  onSettings(settings: ResearchSettings): void;
}) {
  const { reviewPlan, minutes, sources } = settings;
  const toggle = (kind: SourceKind, on: boolean) => {
    const chosen = KINDS.map(({ id }) => id).filter((id) => (id === kind ? on : sources.includes(id)));
    if (chosen.length > 0) onSettings({ ...settings, sources: chosen });
  };
  return (
    <div className="flex flex-wrap items-start justify-between gap-x-8 gap-y-4 rounded-corner border border-line p-4">
      <fieldset className="flex flex-col gap-2">
        <legend className="mb-2 font-medium text-12 text-muted">Where to look</legend>
        <div className="flex flex-wrap gap-x-6 gap-y-2">
          {KINDS.map(({ id, label }) => (
            <CheckboxField
              key={id}
              label={label}
              checked={sources.includes(id)}
              onChange={(checked) => toggle(id, checked)}
            />
          ))}
        </div>
      </fieldset>
      <fieldset className="flex flex-col gap-2">
        <legend className="mb-2 font-medium text-12 text-muted">How to go about it</legend>
        <div className="flex flex-wrap items-center gap-x-6 gap-y-2">
          <CheckboxField
            label="Show me the plan first"
            checked={reviewPlan}
            onChange={(checked) => onSettings({ ...settings, reviewPlan: checked })}
          />
          <select
            aria-label="Time limit"
            value={String(minutes)}
            onChange={(event) => onSettings({ ...settings, minutes: Number(event.target.value) })}
            className="h-8 cursor-pointer rounded-corner border border-edge bg-raised px-2 text-14 pointer-coarse:h-11 pointer-coarse:text-16"
          >
            {LIMITS.map(({ value, label }) => (
              <option key={value} value={value}>
                {label}
              </option>
            ))}
          </select>
        </div>
      </fieldset>
    </div>
  );
}
