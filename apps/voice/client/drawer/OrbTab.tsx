import { Button, CodeView, RangeField, SelectField, useMediaQuery } from '@trunkline/ui';
import { Dices, RotateCcw } from 'lucide-react';
import type { Viz } from '../../api-types.ts';
import { type Look, lookAsYaml, parametersOf, randomLook, resolveLook } from '../orb/look.ts';
import { Orb } from '../orb/Orb.tsx';
import { PALETTES, VARIANTS } from '../orb/palettes.ts';
import { PRESETS } from '../orb/presets.ts';

export interface OrbTabProps {
  look: Look;
  /** A look to try out; undefined goes back to that of the skill. */
  onTry(look: Look | undefined): void;
  trying: boolean;
}

const QUIET = () => ({ ear: 0, voice: 0 });

/** Try out looks of the orb, and take the result along for a skill file. */
export function OrbTab({ look, onTry, trying }: OrbTabProps) {
  // A sheet covers the orb of the page: there it is shown here.
  const covered = !useMediaQuery('(min-width: 64rem)');
  const change = (viz: Viz) => onTry(resolveLook({ ...look, palette: look.palette.name, ...viz }));
  return (
    <div className="flex flex-col gap-5">
      {covered && (
        <div className="mx-auto size-40">
          <Orb state="listening" look={look} levels={QUIET} />
        </div>
      )}
      <p className="text-14 text-muted">Only you see these changes, until you put them into a skill file.</p>
      <Presets onChoose={(viz) => onTry(resolveLook(viz))} />
      <SelectField
        label="Variant"
        value={look.variant}
        options={VARIANTS.map((variant) => ({ value: variant, label: capital(variant) }))}
        onChange={({ target }) => onTry(resolveLook({ variant: target.value }))}
      />
      <PalettePicker look={look} onChoose={(palette) => change({ palette })} />
      {parametersOf(look.variant).map(({ name, label, min, max }) => (
        <RangeField
          key={`${look.variant} ${name}`}
          label={label}
          min={min}
          max={max}
          step={0.05}
          value={look.params[name] ?? min}
          onChange={(value) => change({ params: { ...look.params, [name]: value } })}
        />
      ))}
      <div className="flex flex-wrap gap-2">
        <Button icon={<Dices aria-hidden />} onClick={() => onTry(randomLook(Math.random))}>
          Randomise
        </Button>
        <Button icon={<RotateCcw aria-hidden />} disabled={!trying} onClick={() => onTry(undefined)}>
          As the skill has it
        </Button>
      </div>
      <CodeView title="For the skill file" code={lookAsYaml(look)} />
    </div>
  );
}

function Presets({ onChoose }: { onChoose(viz: Viz): void }) {
  return (
    <fieldset className="flex flex-wrap gap-2">
      <legend className="mb-1 font-medium text-14">Presets</legend>
      {PRESETS.map(({ name, viz }) => (
        <Button key={name} size="small" onClick={() => onChoose(viz)}>
          {name}
        </Button>
      ))}
    </fieldset>
  );
}

function PalettePicker({ look, onChoose }: { look: Look; onChoose(name: string): void }) {
  return (
    <fieldset className="flex flex-wrap gap-2">
      <legend className="mb-1 font-medium text-14">Palette</legend>
      {PALETTES[look.variant].map(({ name, low, middle, high, spark }) => (
        <button
          key={name}
          type="button"
          aria-pressed={name === look.palette.name}
          onClick={() => onChoose(name)}
          className="flex cursor-pointer flex-col items-center gap-1 rounded-corner border border-transparent p-2 text-12 hover:bg-hover aria-pressed:border-accent-strong aria-pressed:bg-accent-wash"
        >
          <span
            aria-hidden
            className="size-9 rounded-full"
            style={{
              backgroundImage: `radial-gradient(circle at 35% 30%, ${spark}, ${high} 22%, ${middle} 55%, ${low})`,
            }}
          />
          {name}
        </button>
      ))}
    </fieldset>
  );
}

function capital(word: string): string {
  return word.charAt(0).toUpperCase() + word.slice(1);
}
