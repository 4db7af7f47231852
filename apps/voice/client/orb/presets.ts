import type { Viz } from '../../api-types.ts';

/** Looks to start from. */
export const PRESETS: readonly { name: string; viz: Viz }[] = [
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
