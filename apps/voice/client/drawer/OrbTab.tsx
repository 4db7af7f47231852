import { Button, CodeView, RangeField, SelectField, useMediaQuery } from '@trunkline/ui';
import { Dices, RotateCcw } from 'lucide-react';
import type { Viz } from '../../api-types.ts';
import {
  type Look,
  lookAsYaml,
  PALETTES,
  parametersOf,
  randomLook,
  resolveLook,
  VARIANTS,
} from '../orb/look.ts';
import { Orb } from '../orb/Orb.tsx';

export interface OrbTabProps {
  look: Look;
  /** Undefined restores the skill's look. */
  onTry(look: Look | undefined): void;
  trying: boolean;
}

const QUIET = () => ({ ear: 0, voice: 0 });

/** Tries out looks of the orb; the result can be copied into a skill file. */
export function OrbTab({ look, onTry, trying }: OrbTabProps) {
  // On small screens the sheet covers the page's orb, so it is shown here.
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

const PRESETS: readonly { name: string; viz: Viz }[] = [
  {
    name: 'Northern night',
    viz: { variant: 'fractal', palette: 'Aurora', params: { twist: 1.4, speed: 0.7 } },
  },
  { name: 'Hearth', viz: { variant: 'fractal', palette: 'Ember', params: { detail: 0.7, glow: 1.4 } } },
  { name: 'Ink', viz: { variant: 'fractal', palette: 'Noir', params: { detail: 1.5, depth: 0.7 } } },
  {
    name: 'Deep field',
    viz: { variant: 'nebula', palette: 'Andromeda', params: { stars: 1.8, density: 0.8 } },
  },
  { name: 'Solar wind', viz: { variant: 'nebula', palette: 'Helios', params: { swirl: 1.7, speed: 1.3 } } },
  {
    name: 'Star chart',
    viz: { variant: 'particles', palette: 'Constellation', params: { count: 0.3, links: 2, size: 1.3 } },
  },
  {
    name: 'Fireflies',
    viz: { variant: 'particles', palette: 'Moss', params: { count: 0.2, size: 1.9, spread: 2, links: 0 } },
  },
  {
    name: 'Cut glass',
    viz: { variant: 'crystal', palette: 'Prism', params: { dispersion: 1.7, facets: 0.8 } },
  },
  {
    name: 'Deep blue',
    viz: { variant: 'crystal', palette: 'Sapphire', params: { clarity: 0.7, speed: 0.6 } },
  },
];
