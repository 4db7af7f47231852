import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { lookAsYaml, PALETTES, parametersOf, randomLook, resolveLook, VARIANTS } from './look.ts';

describe('the look of the orb', () => {
  it('has the variants and palettes of the contract, the first as default', () => {
    const names = Object.fromEntries(
      VARIANTS.map((variant) => [variant, PALETTES[variant].map(({ name }) => name)]),
    );
    expect(names).toEqual({
      fractal: ['Aurora', 'Ember', 'Citrus', 'Forest', 'Noir'],
      nebula: ['Andromeda', 'Emerald', 'Helios', 'Veil'],
      particles: ['Constellation', 'Stardust', 'Ember', 'Moss'],
      crystal: ['Prism', 'Sapphire', 'Topaz', 'Obsidian'],
    });
    expect(resolveLook()).toMatchObject({ variant: 'fractal', palette: { name: 'Aurora' } });
    expect(resolveLook({ variant: 'crystal' })).toMatchObject({ palette: { name: 'Prism' } });
  });

  it('applies variant, palette and params in this order; the pinned one beats the skill [V014]', () => {
    const skill = { variant: 'particles', palette: 'Ember', params: { count: 0.5, size: 1.5 } };
    expect(resolveLook(skill, { palette: 'Moss', params: { size: 2 } })).toMatchObject({
      variant: 'particles',
      palette: { name: 'Moss' },
      params: { count: 0.5, size: 2 },
    });
    // The skill's palette is not one of the pinned variant, its parameters neither.
    const pinned = resolveLook(skill, { variant: 'nebula' });
    expect(pinned).toMatchObject({ variant: 'nebula', palette: { name: 'Andromeda' } });
    expect(pinned.params.count).toBeUndefined();
    expect(resolveLook(skill, null)).toEqual(resolveLook(skill));
  });

  it('keeps to what can be drawn, whatever a file says', () => {
    const look = resolveLook({
      variant: 'CRYSTAL ',
      palette: 'sapphire',
      params: { speed: 99, glow: -3, facets: Number.NaN, clarity: 'high', unknown: 1 },
    });
    expect(look).toMatchObject({ variant: 'crystal', palette: { name: 'Sapphire' } });
    expect(look.params).toMatchObject({ speed: 2, glow: 0, facets: 0.5, clarity: 1 });
    expect(look.params.unknown).toBeUndefined();
    expect(resolveLook({ variant: 3, palette: {}, params: 'x' })).toEqual(resolveLook());
  });

  it('can be taken along as the viz block of a skill file, and comes out the same', () => {
    let step = 0;
    const numbers = () => {
      step = (step + 0.381966) % 1;
      return step;
    };
    for (let count = 0; count < 50; count += 1) {
      const look = randomLook(numbers);
      expect(resolveLook(parse(lookAsYaml(look)).viz)).toEqual(look);
      for (const { name, min, max } of parametersOf(look.variant)) {
        expect(look.params[name]).toBeGreaterThanOrEqual(min);
        expect(look.params[name]).toBeLessThanOrEqual(max);
      }
    }
    expect(lookAsYaml(resolveLook())).toBe('viz:\n  variant: fractal\n  palette: Aurora\n');
  });
});
